import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { LinkDefinition } from '@millwright/link-sdk/define-link.ts'
import { builtInLinks } from './catalogue.ts'

test('every built-in link registers with the id of its manifest, and only plant scans without a range', async () => {
  assert.ok(builtInLinks.length > 0)
  for (const { name, appInstanceId, file } of builtInLinks) {
    const { link }: { link: LinkDefinition } = await import(pathToFileURL(join(dirname(file), 'link.ts')).href)
    assert.equal(link.manifest.id, appInstanceId)
    assert.notEqual(link.manifest.sends, undefined, `${name} takes permits`)
    const range = link.manifest.filters?.find(({ key }) => key === 'ip_range')
    assert.equal(range?.mandatory ?? false, name !== 'plant', name)
  }
})
