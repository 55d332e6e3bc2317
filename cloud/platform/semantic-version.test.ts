import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAtLeast } from './semantic-version.ts'

test('compares semantic versions by their precedence', () => {
  const ascending = [
    '0.0.9',
    '0.3.9',
    '0.3.10-rc.1',
    '0.3.10',
    '0.10.0',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '2.0.0',
  ]
  for (const [index, version] of ascending.entries()) {
    for (const [other, minimum] of ascending.entries()) {
      assert.equal(isAtLeast(version, minimum), index >= other, `${version} and ${minimum}`)
    }
  }
  assert.ok(isAtLeast('1.0.0+build.7', '1.0.0') && isAtLeast('v1.0.0', '1.0.0'))
})

test('treats text that is not a semantic version as too old', () => {
  for (const text of ['', 'latest', '1', '1.0', '1.0.0.0', '1.0.0-', '1.0.0-a..b', '99999999999999.0.0']) {
    assert.ok(!isAtLeast(text, '0.3.10'), text)
  }
})
