import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import type { FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2'
import type { SshConnection } from './ssh-connection.ts'
import type { StreamInput } from './stream-input.ts'

export const fileLimits = {
  /** The maximum number of entries of a folder. Further entries are not listed. */
  entries: 10_000,
  /** The maximum number of symbolic links in a folder that are followed. Further links have the type `other`. */
  links: 200,
  /** The approximate size of a message with entries. */
  messageBytes: 32 * 1024,
  /** The maximum size of an uploaded file. */
  uploadBytes: 16 * 1024 * 1024 * 1024,
} as const

/** The status codes of SFTP that have their own text. */
const status = { endOfFile: 1, noSuchFile: 2, permissionDenied: 3 } as const

const fileTypes = { mask: 0o170000, folder: 0o040000, file: 0o100000, link: 0o120000 } as const

type Entry = { name: string; type: 'file' | 'folder' | 'other'; size: number; modified: string }

type FileOptions = { connection: SshConnection; stream: TunnelStream; input: StreamInput; path: string }

/**
 * Sends the entries of a folder in one or more messages, and ends the stream. `isComplete` of the last message is false if
 * the folder has more entries than the limit; it is also false in all messages before the last one.
 */
export async function listFiles({ connection, stream, path }: FileOptions): Promise<void> {
  const files = await Files.open(connection, path)
  const folder = await files.call<string>((sftp, done) => sftp.realpath(path, done))
  const { entries, isComplete } = await files.entriesOf(folder)
  const messages = inMessages(entries)
  for (const [index, some] of messages.entries()) {
    const isLast = index === messages.length - 1
    await sent(
      stream,
      stream.sendMessage({ type: 'entries', path: folder, entries: some, isComplete: isLast && isComplete }),
    )
  }
  stream.end()
}

/** Sends the size of a file and its bytes, and ends the stream. */
export async function downloadFile({ connection, stream, path }: FileOptions): Promise<void> {
  const files = await Files.open(connection, path)
  const stats = await files.call<Stats>((sftp, done) => sftp.stat(path, done))
  if (typeOf(stats) !== 'file') throw fileError(`${path} is not a file.`)
  const handle = await files.call<Buffer>((sftp, done) => sftp.open(path, 'r', done))
  try {
    stream.sendMessage({ type: 'file', size: stats.size, modified: timeOf(stats) })
    for await (const bytes of files.bytesOf(handle, stats.size)) await sent(stream, stream.write(bytes))
  } finally {
    files.close(handle)
  }
  stream.end()
}

/**
 * Stores the bytes of the stream in a temporary file next to the target, and then renames it. An interrupted upload
 * leaves the target unchanged.
 */
export async function uploadFile({ connection, stream, input, path }: FileOptions): Promise<void> {
  await connection.signedIn
  const body = new PassThrough()
  body.on('error', () => undefined)
  // Bytes are only complete after the end. If the stream closes before, the upload fails.
  stream.once('close', () => body.destroy(fileError('The upload was interrupted.')))
  input.pipeTo(body)
  const files = await Files.open(connection, path)
  const existing = await files.find(path)
  if (existing !== undefined && typeOf(existing) === 'folder') throw fileError(`${path} is a folder. Add a file name.`)
  if (existing !== undefined && typeOf(existing) !== 'file') throw fileError(`${path} is not a file.`)
  const temporary = `${path}.${randomBytes(6).toString('hex')}.part`
  const handle = await files.call<Buffer>((sftp, done) => sftp.open(temporary, 'wx', done))
  let size = 0
  try {
    size = await files.store(handle, body)
    if (existing !== undefined) {
      const { mode } = existing
      // A device that cannot change permissions stores the file with its default permissions.
      await files.call<void>((sftp, done) => sftp.fchmod(handle, mode & 0o7777, done)).catch(() => undefined)
    }
    await files.call<void>((sftp, done) => sftp.close(handle, done))
    await files.replace(temporary, path)
  } catch (error) {
    files.close(handle)
    await files.call<void>((sftp, done) => sftp.unlink(temporary, done)).catch(() => undefined)
    throw error
  }
  stream.sendMessage({ type: 'stored', size })
  stream.end()
}

/**
 * The size of one request, and the number of requests without an answer. Several requests at the same time make transfers
 * fast although each answer takes some time. All devices support this size.
 */
const requests = { bytes: 32 * 1024, concurrent: 16 } as const

type Done<Result> = (error: Error | null | undefined, result: Result) => void

/** `Files` calls the file transfer of a device for one path. Errors become texts for the user. */
class Files {
  readonly #connection: SshConnection
  readonly #sftp: SFTPWrapper
  readonly #path: string

  private constructor(connection: SshConnection, sftp: SFTPWrapper, path: string) {
    this.#connection = connection
    this.#sftp = sftp
    this.#path = path
  }

  static async open(connection: SshConnection, path: string): Promise<Files> {
    if (path === '' || path.includes('\0')) throw fileError('The path is empty or contains a NUL character.')
    await connection.signedIn
    return new Files(connection, await connection.sftp(), path)
  }

  /** Calls one function of the file transfer. Throws a `StreamRefusal`, also when the connection ends. */
  async call<Result>(run: (sftp: SFTPWrapper, done: Done<Result>) => void): Promise<Result> {
    try {
      return await this.#result(run)
    } catch (error) {
      throw this.#refusalOf(error)
    }
  }

  async find(path: string): Promise<Stats | undefined> {
    try {
      return await this.#result<Stats>((sftp, done) => sftp.stat(path, done))
    } catch (error) {
      if (codeOf(error) === status.noSuchFile) return undefined
      throw this.#refusalOf(error)
    }
  }

  async entriesOf(folder: string): Promise<{ entries: Entry[]; isComplete: boolean }> {
    const handle = await this.call<Buffer>((sftp, done) => sftp.opendir(folder, done))
    const found: FileEntryWithStats[] = []
    let isComplete = false
    try {
      while (found.length <= fileLimits.entries) {
        const some = await this.#nextEntries(handle)
        if (some === undefined) {
          isComplete = true
          break
        }
        found.push(...some.filter(({ filename }) => filename !== '.' && filename !== '..'))
      }
    } finally {
      this.close(handle)
    }
    isComplete &&= found.length <= fileLimits.entries
    let links = 0
    const entries: Entry[] = []
    for (const { filename: name, attrs } of found.slice(0, fileLimits.entries)) {
      const isFollowed = (attrs.mode & fileTypes.mask) === fileTypes.link && links++ < fileLimits.links
      // A link whose target is missing keeps its own attributes.
      const stats = isFollowed ? ((await this.find(`${folder}/${name}`).catch(() => undefined)) ?? attrs) : attrs
      entries.push({ name, type: typeOf(stats), size: stats.size ?? 0, modified: timeOf(stats) })
    }
    return { entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)), isComplete }
  }

  /** Returns the next entries of a folder, or undefined after the last one. */
  async #nextEntries(handle: Buffer): Promise<FileEntryWithStats[] | undefined> {
    try {
      return await this.#result<FileEntryWithStats[]>((sftp, done) => sftp.readdir(handle, done))
    } catch (error) {
      if (codeOf(error) === status.endOfFile) return undefined
      throw this.#refusalOf(error)
    }
  }

  /** Returns the bytes of a file in order. Throws if the file has fewer bytes than `size`. */
  async *bytesOf(handle: Buffer, size: number): AsyncGenerator<Buffer> {
    const pending: Promise<Buffer>[] = []
    for (let requested = 0; requested < size || pending.length > 0; ) {
      while (requested < size && pending.length < requests.concurrent) {
        const length = Math.min(requests.bytes, size - requested)
        const part = this.#readPart(handle, requested, length)
        // The error is thrown when it is the turn of the part.
        part.catch(() => undefined)
        pending.push(part)
        requested += length
      }
      const bytes = await pending.shift()
      if (bytes !== undefined) yield bytes
    }
  }

  /** Reads a part of a file. A device can answer with fewer bytes than requested. */
  async #readPart(handle: Buffer, position: number, length: number): Promise<Buffer> {
    const part = Buffer.allocUnsafe(length)
    for (let filled = 0; filled < length; ) {
      const at = filled
      try {
        filled += await this.#result<number>((sftp, done) =>
          sftp.read(handle, part, at, length - at, position + at, done),
        )
      } catch (error) {
        throw codeOf(error) === status.endOfFile ? this.#shorter() : this.#refusalOf(error)
      }
      if (filled === at) throw this.#shorter()
    }
    return part
  }

  #shorter(): StreamRefusal {
    return fileError(`${this.#path} became shorter during the download.`)
  }

  /** Writes bytes to a file in order. Returns their number. */
  async store(handle: Buffer, body: AsyncIterable<Buffer>): Promise<number> {
    let size = 0
    const pending = new Set<Promise<void>>()
    let failure: unknown
    for await (const bytes of body) {
      if (size + bytes.length > fileLimits.uploadBytes)
        throw fileError(`The file is larger than ${fileLimits.uploadBytes / 2 ** 30} GiB, which is the limit.`)
      for (let from = 0; from < bytes.length; from += requests.bytes) {
        const part = bytes.subarray(from, from + requests.bytes)
        const position = size + from
        const writing: Promise<void> = this.call<void>((sftp, done) =>
          sftp.write(handle, part, 0, part.length, position, done),
        )
          .catch((error: unknown) => {
            failure ??= error
          })
          .finally(() => pending.delete(writing))
        pending.add(writing)
        if (pending.size >= requests.concurrent) await Promise.race(pending)
        if (failure !== undefined) throw failure
      }
      size += bytes.length
    }
    await Promise.all(pending)
    if (failure !== undefined) throw failure
    return size
  }

  /** Renames a file and replaces an existing one. Devices without an atomic function get three steps. */
  async replace(from: string, to: string): Promise<void> {
    try {
      return await this.#result<void>((sftp, done) => sftp.ext_openssh_rename(from, to, done as () => void))
    } catch {
      // The device does not have this function, or refuses it. The next function reports the reason.
    }
    if ((await this.find(to)) === undefined) return this.call<void>((sftp, done) => sftp.rename(from, to, done))
    const previous = `${from}.previous`
    await this.call<void>((sftp, done) => sftp.rename(to, previous, done))
    try {
      await this.call<void>((sftp, done) => sftp.rename(from, to, done))
    } catch (error) {
      await this.call<void>((sftp, done) => sftp.rename(previous, to, done))
      throw error
    }
    await this.call<void>((sftp, done) => sftp.unlink(previous, done))
  }

  /** Closes a file or folder. An error has no effect, because the device closes all of them with the connection. */
  close(handle: Buffer): void {
    this.#result<void>((sftp, done) => sftp.close(handle, done)).catch(() => undefined)
  }

  #result<Result>(run: (sftp: SFTPWrapper, done: Done<Result>) => void): Promise<Result> {
    const { closed } = this.#connection
    return new Promise((resolve, reject) => {
      const onClose = () => reject(this.#connection.failure)
      if (closed.aborted) return onClose()
      closed.addEventListener('abort', onClose, { once: true })
      run(this.#sftp, (error, result) => {
        closed.removeEventListener('abort', onClose)
        if (error) reject(error)
        else resolve(result)
      })
    })
  }

  #refusalOf(error: unknown): StreamRefusal {
    if (error instanceof StreamRefusal) return error
    if (this.#connection.closed.aborted) return this.#connection.failure
    const path = this.#path
    switch (codeOf(error)) {
      case status.noSuchFile:
        return fileError(`${path} does not exist on the device.`)
      case status.permissionDenied:
        return fileError(`The device does not permit this user to access ${path}.`)
      default:
        return fileError(
          `The device reports an error for ${path}: ${this.#connection.cleanText((error as Error).message)}.`,
        )
    }
  }
}

/** Waits until the stream accepts more data. Throws when the stream is closed. */
async function sent(stream: TunnelStream, isReady: boolean): Promise<void> {
  if (stream.destroyed) throw fileError('The stream was closed.')
  if (isReady) return
  await new Promise<void>((resolve) => {
    const settle = () => {
      stream.off('drain', settle)
      stream.off('close', settle)
      resolve()
    }
    stream.on('drain', settle)
    stream.on('close', settle)
  })
}

function inMessages(entries: readonly Entry[]): Entry[][] {
  const messages: Entry[][] = [[]]
  let bytes = 0
  for (const entry of entries) {
    const size = Buffer.byteLength(JSON.stringify(entry))
    if (bytes + size > fileLimits.messageBytes) {
      messages.push([])
      bytes = 0
    }
    bytes += size
    messages.at(-1)?.push(entry)
  }
  return messages
}

function typeOf({ mode }: Pick<Stats, 'mode'>): Entry['type'] {
  const type = mode & fileTypes.mask
  return type === fileTypes.folder ? 'folder' : type === fileTypes.file ? 'file' : 'other'
}

function timeOf({ mtime }: Pick<Stats, 'mtime'>): string {
  return new Date((mtime ?? 0) * 1_000).toISOString()
}

function codeOf(error: unknown): number | undefined {
  return (error as { code?: number }).code
}

function fileError(detail: string): StreamRefusal {
  return new StreamRefusal({ code: 'file_error', detail })
}
