import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates a temporary file with this content. It is deleted at the end of the scope. */
export function temporaryFile(content: string | Uint8Array): { path: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'millwright-test-'))
  const path = join(folder, 'file')
  writeFileSync(path, content)
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}
