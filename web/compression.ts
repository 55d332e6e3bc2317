import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

/**
 * Writes a `.br` and a `.gz` version of every text file that becomes smaller, so that the server does not have to
 * compress files.
 */
export async function compress(folder: string): Promise<void> {
  const files = globSync('**/*.{js,css,html,svg}', { cwd: folder }).map((name) => join(folder, name))
  await Promise.all(
    files.map(async (file) => {
      const text = await readFile(file)
      const params = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: text.length }
      const [small, zipped] = await Promise.all([brotli(text, { params }), zip(text, { level: 9 })])
      if (small.length < text.length) await writeFile(`${file}.br`, small)
      if (zipped.length < text.length) await writeFile(`${file}.gz`, zipped)
    }),
  )
}
