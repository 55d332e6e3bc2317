import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isStaticSvg } from './trusted-types.ts'

test('accepts static SVG and rejects markup with scripts, links or event handlers', () => {
  const icon = "<svg width='24' viewBox='0 0 24 24'><desc>add-user</desc><path d='M21 6.5V17'/></svg>"
  for (const harmless of ['', icon, `data:image/svg+xml;utf8,${icon}`]) assert.equal(isStaticSvg(harmless), true)
  for (const harmful of [
    '<img src=x onerror=alert(1)>',
    '<svg onload=alert(1)>',
    '<svg><script>alert(1)</script></svg>',
    '<svg><a href="javascript:alert(1)">x</a></svg>',
    '<svg><foreignObject><iframe src="https://example.com"></iframe></foreignObject></svg>',
    '<svg/onload=alert(1)>',
    'text <svg></svg>',
  ])
    assert.equal(isStaticSvg(harmful), false, harmful)
})
