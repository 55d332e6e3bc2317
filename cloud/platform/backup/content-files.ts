import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StartError } from '../start-error.ts'
import { broken } from './archive.ts'

/**
 * The files with the contents of artefacts in a backup. A file is `<tenant>/<id>` in its folder. It is stored in parts, so that
 * only one part is in memory. Uploads that are not complete are not part of a backup.
 */

const partBytes = 4 * 1024 * 1024
const prefix = 'files/'
const id = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const idPattern = new RegExp(`^${id}$`)
const partPattern = new RegExp(`^${prefix}(${id}/${id})/(\\d{7})\\.part$`)

export function partName(name: string, part: number): string {
  return `${prefix}${name}/${String(part).padStart(7, '0')}.part`
}

/** Returns whether an entry of a backup is a part of a file. */
export function isFilePart(entryName: string): boolean {
  return entryName.startsWith(prefix)
}

export type FilePart = { name: string; part: number; content: Buffer }

/** Reads all files of a folder in parts. */
export async function* readContentFiles(folder: string): AsyncGenerator<FilePart> {
  for (const tenant of await namesIn(folder)) {
    for (const location of await namesIn(join(folder, tenant))) {
      const name = `${tenant}/${location}`
      let part = 0
      for await (const content of partsOf(join(folder, name))) {
        part += 1
        yield { name, part, content }
      }
    }
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => idPattern.test(name)).toSorted()
}

async function* partsOf(path: string): AsyncGenerator<Buffer> {
  const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
    // The content was deleted after the folder was read.
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (handle === undefined) return
  try {
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(partBytes), 0, partBytes)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

/** `ContentFileWriter` restores files. A restore that fails deletes the files that it has created. */
export class ContentFileWriter {
  readonly #folder: string
  readonly #created: string[] = []
  #current: { name: string; part: number } | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Writes the next part of a file. Returns the name of the file. */
  async write(entryName: string, content: Buffer): Promise<string> {
    const [, name = '', number = ''] = partPattern.exec(entryName) ?? []
    const part = Number(number)
    const isNext = this.#current?.name === name ? part === this.#current.part + 1 : part === 1
    if (name === '' || !isNext) throw broken()
    const path = join(this.#folder, name)
    if (part === 1) await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const handle = await open(path, part === 1 ? 'wx' : 'a', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
      throw new StartError(`The file ${path} exists already: restore into a new home. Nothing was changed.`)
    })
    if (part === 1) this.#created.push(path)
    try {
      await handle.writeFile(content)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    this.#current = { name, part }
    return name
  }

  /** Deletes the files that were created. */
  async undo(): Promise<void> {
    for (const path of this.#created) await rm(path, { force: true })
  }
}
