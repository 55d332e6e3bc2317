import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './checks.ts'
import { checkLanguage } from './language/language.ts'
import { notYet } from './language/rules.ts'

/**
 * Checks that everything a person reads is plain English: docs, console and CLI texts, API descriptions, comments,
 * test titles and type names. `npm run check` runs it. On its own:
 *
 *     node tools/language-check.mjs              everything except the folders in `notYet`
 *     node tools/language-check.mjs cli docs     these folders or files, even if they are in `notYet`
 *
 * The phrases, the exceptions and `notYet` are in tools/language/rules.ts.
 */

const paths = process.argv.slice(2)
const isBelow = (file: string, folder: string) =>
  folder.endsWith('/*')
    ? dirname(file) === folder.slice(0, -2)
    : file === folder || file.startsWith(`${folder.replace(/\/$/, '')}/`)
const everything = globSync('**/*.{md,ts,tsx,mjs,proto,css}', {
  cwd: root,
  exclude: [
    '**/node_modules',
    '.millwright',
    'api/proto/generated',
    'web/dist',
    'tools/language/rules.ts',
    'tools/language/*.test.ts',
  ],
}).toSorted()
const files = everything.filter((file) =>
  paths.length > 0 ? paths.some((path) => isBelow(file, path)) : !notYet.some((folder) => isBelow(file, folder)),
)

const { findings, passages, unusedExceptions } = checkLanguage(
  files.map((file) => ({ file, content: readFileSync(join(root, file), 'utf8') })),
)
for (const { file, line, text, hint } of findings) console.log(`${file}:${line}: "${text}": ${hint}`)
const isComplete = paths.length === 0
if (isComplete)
  for (const { file, text } of unusedExceptions)
    console.log(`tools/language/rules.ts: the exception "${text}" in ${file} matches nothing; remove it`)
console.log(`Language: ${passages} passages in ${files.length} files checked, ${findings.length} findings.`)
if (isComplete && notYet.length > 0) console.log(`Not checked yet: ${notYet.join(', ')}`)
if (passages === 0) console.log('Nothing was checked: no file matches.')
const isPassed = passages > 0 && findings.length === 0 && (!isComplete || unusedExceptions.length === 0)
process.exitCode = isPassed ? 0 : 1
