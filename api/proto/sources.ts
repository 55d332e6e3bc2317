import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname

/** The file that contains the hash of the .proto files from which the code in `generated` was created. */
export const recordedSources: string = join(folder, 'generated', 'sources.sha256')

/**
 * Returns one hash over the names and texts of all .proto files. If the hash changes, the code in `generated` must be
 * created again.
 */
export function hashOfSources(): string {
  const hash = createHash('sha256')
  for (const name of globSync('*.proto', { cwd: folder }).toSorted()) {
    hash.update(`${name}\n${readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n')}\n`)
  }
  return hash.digest('hex')
}
