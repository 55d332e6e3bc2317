import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checks.ts'
import { withSections } from './reference/sections.ts'

/** Writes the generated sections of docs/reference: operations, commands, settings, permissions and problem codes. */
for (const file of globSync('docs/reference/*.md', { cwd: root }).toSorted()) {
  const page = readFileSync(join(root, file), 'utf8')
  const current = await withSections(page)
  if (current === page) continue
  writeFileSync(join(root, file), current)
  console.log(`${file} is updated.`)
}
