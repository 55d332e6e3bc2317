import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildConsole } from './console-build.ts'

type Chunk = { file: string; imports?: string[]; dynamicImports?: string[]; css?: string[]; isEntry?: boolean }

/** Limit of the compressed JavaScript and CSS that is loaded for the start page. */
const firstLoadLimit = 500 * 1000

test('the start page loads less than 500 kB of compressed JavaScript and CSS', async () => {
  const folder = await buildConsole()
  const manifest: Record<string, Chunk> = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  const entries = ['index.html', 'source/app/navigation/router.tsx', 'source/pages/start/start-page.tsx']
  for (const entry of entries) assert.ok(manifest[entry] !== undefined, `the build has no ${entry}`)
  const files = new Set(entries.flatMap((entry) => withImports(manifest, entry)))
  const sizes = [...files].map((file) => sizeOf(join(folder, file)))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  process.stdout.write(`# ${files.size} files, ${Math.round(total / 1000)} kB\n`)
  assert.ok(total > 50_000 && total < firstLoadLimit, `it is ${total} bytes`)
})

/** Files that compression does not make smaller are sent uncompressed. */
function sizeOf(file: string): number {
  return statSync(`${file}.gz`, { throwIfNoEntry: false })?.size ?? statSync(file).size
}

function withImports(manifest: Record<string, Chunk>, name: string): string[] {
  const chunk = manifest[name]
  if (chunk === undefined) return []
  return [chunk.file, ...(chunk.css ?? []), ...(chunk.imports ?? []).flatMap((each) => withImports(manifest, each))]
}
