import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'
import type { ArchiveEntry } from './archive-entry.ts'

/**
 * Throws if a program in the archive imports a file or a package that the archive does not contain. Type imports are
 * ignored, because they do not exist at run time.
 */
export function requireImports(entries: readonly ArchiveEntry[]): void {
  const paths = new Set(entries.map(({ path }) => path))
  const missing = entries.flatMap((entry) => {
    if ('target' in entry || !isProgram(entry.path)) return []
    return importsOf(entry.read().toString('utf8'))
      .filter((target) => !isPresent(entry.path, target, paths))
      .map((target) => `${entry.path} imports ${target}`)
  })
  if (missing.length === 0) return
  throw new Error(
    `The archive would be incomplete. Add the imported files or packages to it:\n  ${missing.join('\n  ')}`,
  )
}

/** Returns the files of the repository that programs import, directly and indirectly, with the programs themselves. */
export function importedFiles(root: string, programs: readonly string[]): string[] {
  const files = new Set(programs)
  for (const file of files) {
    if (!/\.(ts|mjs|js)$/.test(file)) continue
    for (const target of importsOf(readFileSync(join(root, file), 'utf8'))) {
      const own = /^@millwright\/([^/]+)\/(.+)$/.exec(target)
      if (own !== null) files.add(`${own[1]}/${own[2]}`)
      else if (target.startsWith('.')) files.add(posix.join(posix.dirname(file), target))
    }
  }
  return [...files]
}

/** Programs of this repository. Packages of other projects are complete as they are. The template is not run. */
function isProgram(path: string): boolean {
  return /^app\/.*\.(ts|mjs)$/.test(path) && !/\/node_modules\/|\/template\/|\/docs\//.test(path)
}

function importsOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '')
  const found = [
    ...code.matchAll(/^(?:import|export)\s+(?!type\s)(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm),
    ...code.matchAll(/\bimport\(['"]([^'"]+)['"]\)/g),
  ]
  return found.map(([, target = '']) => target)
}

function isPresent(from: string, target: string, paths: ReadonlySet<string>): boolean {
  if (isBuiltin(target)) return true
  if (target.startsWith('.')) return paths.has(posix.join(posix.dirname(from), target))
  const own = /^@millwright\/([^/]+)\/(.+)$/.exec(target)
  if (own !== null) return paths.has(`app/${own[1]}/${own[2]}`)
  const name = target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')
  for (let folder = posix.dirname(from); folder !== '.'; folder = posix.dirname(folder))
    if (paths.has(`${folder}/node_modules/${name}/package.json`)) return true
  return false
}
