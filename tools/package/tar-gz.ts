import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Header, pack } from 'tar-stream'
import type { ArchiveEntry } from './archive-entry.ts'

export type TarOptions = {
  /** The folder in the archive that contains all entries. */
  folder: string
  /** The modification time of all entries, in seconds. */
  time: number
  output: string
}

/**
 * Writes a reproducible archive: the same entries give the same bytes. Entries are sorted, belong to root, have one of two
 * modes, and have the same time. The file gets its name only when it is complete. Returns its SHA-256 hash.
 */
export async function writeTarGz(entries: readonly ArchiveEntry[], options: TarOptions): Promise<string> {
  const { output } = options
  const draft = `${output}.${process.pid}`
  const hash = createHash('sha256')
  try {
    await pipeline(
      Readable.from(tarOf(entries, options)),
      // Node writes neither a time nor a file name into the header of a gzip file.
      createGzip({ level: 6, chunkSize: 1024 * 1024 }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk)
          yield chunk
        }
      },
      createWriteStream(draft),
    )
    await rename(draft, output)
  } finally {
    await rm(draft, { force: true })
  }
  return hash.digest('hex')
}

async function* tarOf(entries: readonly ArchiveEntry[], { folder, time }: TarOptions): AsyncGenerator<Uint8Array> {
  const tar = pack()
  const common = { uid: 0, gid: 0, uname: 'root', gname: 'root', mtime: new Date(time * 1_000) }
  const add = (header: Partial<Header> & Pick<Header, 'name'>, content?: Buffer) =>
    new Promise<void>((resolve, reject) => {
      const done = (error?: Error | null) => (error ? reject(error) : resolve())
      if (content === undefined) tar.entry({ ...common, ...header }, done)
      else tar.entry({ ...common, ...header, size: content.length }, content, done)
    })
  const writing = (async () => {
    for (const path of foldersOf(entries)) {
      await add({ name: join(folder, path), type: 'directory', mode: 0o755 })
    }
    for (const entry of entries.toSorted(byPath)) {
      const name = join(folder, entry.path)
      if ('target' in entry) await add({ name, type: 'symlink', linkname: entry.target, mode: 0o777 })
      else await add({ name, type: 'file', mode: entry.executable ? 0o755 : 0o644 }, entry.read())
    }
    tar.finalize()
  })()
  writing.catch((error: Error) => tar.destroy(error))
  yield* tar as AsyncIterable<Uint8Array>
  await writing
}

/** Returns all folders that contain entries, parents first. The folder of the archive is the empty path. */
function foldersOf(entries: readonly ArchiveEntry[]): string[] {
  const folders = new Set([''])
  for (const { path } of entries) {
    const parts = path.split('/').slice(0, -1)
    parts.forEach((_, index) => {
      folders.add(parts.slice(0, index + 1).join('/'))
    })
  }
  return [...folders].toSorted()
}

function join(folder: string, path: string): string {
  return path === '' ? folder : `${folder}/${path}`
}

/** Compares the code units of two paths, so that the order does not depend on the language of the machine. */
function byPath({ path: one }: ArchiveEntry, { path: other }: ArchiveEntry): number {
  return one < other ? -1 : one > other ? 1 : 0
}
