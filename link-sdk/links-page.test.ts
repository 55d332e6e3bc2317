import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { checkLink } from './conformance/suite.ts'
import type { LinkDefinition } from './define-link.ts'
import { startLink } from './start-link.ts'

const root = join(import.meta.dirname, '..')

test('the example link of the how-to guide conforms to the protocol', async () => {
  const page = await readFile(join(root, 'docs/how-to/write-a-link.md'), 'utf8')
  const example = /```ts\n(.*?)```/s.exec(page)?.[1] ?? ''
  const workshop = join(root, '.millwright')
  await mkdir(workshop, { recursive: true })
  const folder = await mkdtemp(join(workshop, 'page-'))
  try {
    await writeFile(join(folder, 'link.ts'), example)
    const { link }: { link: LinkDefinition } = await import(pathToFileURL(join(folder, 'link.ts')).href)
    await using running = await startLink(link, { logLevel: 'silent' })
    const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, withinMs: 120_000 }))
    assert.deepEqual(
      results.filter(({ outcome }) => outcome === 'fail'),
      [],
    )
    assert.ok(results.filter(({ outcome }) => outcome === 'pass').length > 10)
  } finally {
    await rm(folder, { recursive: true })
  }
})
