import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../checks.ts'
import { sections, sectionsIn, withSections } from './sections.ts'

const pages = globSync('docs/reference/*.md', { cwd: root })
const read = (file: string) => readFileSync(join(root, file), 'utf8')

test('the generated sections of all reference pages are up to date', async () => {
  for (const file of pages) {
    const page = read(file)
    assert.ok(page === (await withSections(page)), `${file} is stale: run node tools/reference-pages.mjs`)
  }
})

test('every generated section is in exactly one reference page', () => {
  assert.deepEqual(pages.flatMap((file) => sectionsIn(read(file))).toSorted(), Object.keys(sections).toSorted())
})

test('writes a generated section between its markers, and leaves the rest of the page unchanged', async () => {
  const page = 'before\n<!-- generated: exit codes -->\nold\n<!-- end -->\nafter\n'
  const current = await withSections(page)
  assert.match(
    current,
    /^before\n<!-- generated: exit codes -->\n\n\| Code \| Meaning \|[\s\S]*\n\n<!-- end -->\nafter\n$/,
  )
  assert.equal(current.includes('old'), false)
  assert.equal(await withSections(current), current)
})

test('rejects a page with an unknown generated section', async () => {
  await assert.rejects(
    withSections('<!-- generated: nothing -->\n<!-- end -->'),
    /No generated section is named "nothing"/,
  )
})
