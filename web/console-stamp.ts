import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const web = dirname(fileURLToPath(import.meta.url))
const root = dirname(web)

export const distFolder = join(web, 'dist')
/** The file that contains the name of the current build. */
export const currentFile = join(distFolder, 'current')

/** The patterns of the files that a build depends on. */
const sources = ['web/*.{ts,html,json}', 'web/{source,public}/**/*.*', 'api/**/*.ts', 'package-lock.json']

/** Returns the hash of all source files, which is the name of the build. */
export function sourceStamp(): string {
  const hash = createHash('sha256')
  const files = sources.flatMap((pattern) => globSync(pattern, { cwd: root })).filter((file) => !isTest(file))
  for (const file of files.toSorted())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex').slice(0, 24)
}

/** Returns whether the sources of the console are present. An installed archive contains only the build. */
export function hasSources(): boolean {
  return existsSync(join(web, 'source'))
}

function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file)
}

export function currentStamp(): string | undefined {
  try {
    return readFileSync(currentFile, 'utf8')
  } catch {
    return undefined
  }
}
