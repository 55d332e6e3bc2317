import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { checkLink } from './conformance/suite.ts'
import type { LinkDefinition } from './define-link.ts'
import { scaffoldLink } from './scaffold.ts'
import { startLink } from './start-link.ts'

test('scaffoldLink creates a link with the given name that conforms to the protocol', async () => {
  const workshop = join(import.meta.dirname, '../.millwright')
  await mkdir(workshop, { recursive: true })
  const folder = await mkdtemp(join(workshop, 'scaffold-'))
  try {
    const files = await scaffoldLink(join(folder, 'bread-ovens'))
    const names = files.map((file) => basename(file))
    for (const name of ['bread-ovens.test.ts', 'device.ts', 'discover.ts', 'link.ts', 'manifest.ts', 'simulator.ts'])
      assert.ok(names.includes(name), `${name} is missing`)

    const { link }: { link: LinkDefinition } = await import(pathToFileURL(join(folder, 'bread-ovens/link.ts')).href)
    assert.equal(link.manifest.id, 'example.links.bread-ovens')
    assert.equal(link.manifest.name, 'Bread ovens')
    await using running = await startLink(link, { logLevel: 'silent' })
    const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, withinMs: 120_000 }))
    assert.deepEqual(
      results.filter(({ outcome }) => outcome === 'fail'),
      [],
    )
    await assert.rejects(scaffoldLink(join(folder, 'bread-ovens')), /already exists/)
    await assert.rejects(scaffoldLink(join(folder, 'Bread')), /is not a valid link name/)
  } finally {
    await rm(folder, { recursive: true })
  }
})
