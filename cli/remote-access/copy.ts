import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { basename, join, posix } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import type { Command } from 'commander'
import { CommandError, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatBytes } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { type SessionOptions, sessionRequest, withSessionOptions } from './connect.ts'
import { type OpenRemoteSession, withRemoteSession } from './remote-session.ts'
import { openSignedIn } from './sign-in.ts'

/** This file copies single files from and to a device with SFTP. */

export function addCopy(remote: Command, terminal: Terminal): void {
  platformCommand(
    withSessionOptions(
      remote
        .command('copy')
        .description('copy a file from or to an asset, with SFTP')
        .argument('<from>', '<asset>:<path>, or a file on this machine')
        .argument('<to>', '<asset>:<path>, or a file or folder on this machine'),
    ),
    terminal,
    copy,
  ).addHelpText(
    'after',
    `
Exactly one of <from> and <to> is on the device: the id or name of the asset, a colon, and the path. If the name of a file
on this machine contains a colon, write a folder in front of it, such as ./a:b. The command opens a session for ssh and ends it after the copy.
Without --credential, it prompts for the user name and the password of the device.

Examples:
  millwright remote copy 'Drive 12:/var/log/messages' messages.txt
  millwright remote copy drive.conf 'Drive 12:/etc/drive.conf' --credential 'Hall 4'`,
  )
}

type DevicePath = { asset: string; path: string }

/** Splits `<asset>:<path>`. Returns nothing for a path of this machine. */
export function devicePath(text: string): DevicePath | undefined {
  const colon = text.indexOf(':')
  const isDrive = /^[A-Za-z]:[\\/]/.test(text)
  if (colon < 1 || isDrive || text.slice(0, colon).includes('/')) return undefined
  return { asset: text.slice(0, colon), path: text.slice(colon + 1) }
}

async function copy(session: Session, from: string, to: string, options: SessionOptions): Promise<void> {
  const source = devicePath(from)
  const target = devicePath(to)
  if ((source === undefined) === (target === undefined))
    throw usageError('Exactly one of the two must be a path on a device: <asset>:<path>.')
  if (source !== undefined) return download(session, source, { file: await fileFor(to, source), options })
  if (target !== undefined) return upload(session, target, { file: from, options })
}

/** Returns the file to write. In a folder, the file has the same name as on the device. */
async function fileFor(to: string, { path }: DevicePath): Promise<string> {
  if (path === '') throw usageError('The path on the device is missing: <asset>:<path>.')
  const isFolder = await stat(to).then(
    (found) => found.isDirectory(),
    () => false,
  )
  return isFolder ? join(to, posix.basename(path)) : to
}

type CopyOptions = { file: string; options: SessionOptions }

function withFiles(
  session: Session,
  { asset, options }: { asset: string; options: SessionOptions },
  work: (remote: OpenRemoteSession) => Promise<void>,
): Promise<void> {
  const port = options.port === undefined ? {} : { port: options.port }
  return sessionRequest(session, { asset, service: 'ssh', ...port }, options).then((request) =>
    withRemoteSession(session, { request, isQuiet: true }, (remote) => withSignIn(session, remote, () => work(remote))),
  )
}

/**
 * Runs `work` while the gateway is signed in at the device. Without a credential, the user signs in on a terminal stream,
 * whose connection the files use. Its shell gets no input and is closed afterwards.
 */
async function withSignIn(session: Session, remote: OpenRemoteSession, work: () => Promise<void>): Promise<void> {
  if (remote.details.credentialInstanceId !== undefined) return work()
  const query = { kind: 'terminal', columns: 80, rows: 24 } as const
  const shell = await openSignedIn(session, remote, { query, onMessage: () => {} })
  shell.on('error', () => {}).resume()
  try {
    await work()
  } finally {
    shell.destroy()
  }
}

async function download(session: Session, source: DevicePath, { file, options }: CopyOptions): Promise<void> {
  await withFiles(session, { asset: source.asset, options }, async (remote) => {
    let size: number | undefined
    const onMessage = (message: StreamMessage) => {
      if (message.type === 'file' && typeof message.size === 'number') size = message.size
    }
    const stream = await remote.open({ kind: 'file-download', path: source.path }, { onMessage })
    const counter = new ProgressCounter(session.terminal, () => size)
    const partial = `${file}.part`
    try {
      await pipeline(stream, counter, createWriteStream(partial), { signal: remote.signal })
      if (size !== undefined && counter.bytes !== size)
        throw new CommandError(`The file is incomplete: ${counter.bytes} of ${size} bytes arrived.`)
      await rename(partial, file)
    } catch (error) {
      await rm(partial, { force: true })
      throw stream.errored ?? fileErrorOf(error, `${file} cannot be written`)
    }
    await done(session, { from: `${source.asset}:${source.path}`, to: file, bytes: counter.bytes })
  })
}

async function upload(session: Session, target: DevicePath, { file, options }: CopyOptions): Promise<void> {
  const found = await stat(file).catch((error) => {
    throw fileErrorOf(error, `${file} cannot be read`)
  })
  if (!found.isFile())
    throw usageError(`${file} is not a file.`, 'copy each file of a folder, or an archive of the folder')
  const path = target.path === '' || target.path.endsWith('/') ? `${target.path}${basename(file)}` : target.path
  await withFiles(session, { asset: target.asset, options }, async (remote) => {
    let stored: number | undefined
    const signedIn = Promise.withResolvers<void>()
    const onMessage = (message: StreamMessage) => {
      if (message.type === 'signed-in') signedIn.resolve()
      if (message.type === 'stored' && typeof message.size === 'number') stored = message.size
    }
    const stream = await remote.open({ kind: 'file-upload', path }, { onMessage })
    stream.once('close', () =>
      signedIn.reject(stream.errored ?? new CommandError('The device ended the connection before the upload.')),
    )
    // Before the sign-in, the gateway buffers only a limited number of bytes.
    await signedIn.promise
    const counter = new ProgressCounter(session.terminal, () => found.size)
    await Promise.all([
      pipeline(createReadStream(file), counter, stream, { signal: remote.signal }),
      drained(stream),
    ]).catch((error) => {
      throw stream.errored ?? fileErrorOf(error, `${file} cannot be read`)
    })
    if (stored !== counter.bytes)
      throw new CommandError(`The device stored ${stored ?? 'an unknown number of'} of ${counter.bytes} bytes.`)
    await done(session, { from: file, to: `${target.asset}:${path}`, bytes: counter.bytes })
  })
}

/** Reads a stream to its end. An upload has no bytes in this direction, but its end confirms that the file is stored. */
async function drained(stream: Readable): Promise<void> {
  for await (const _ of stream);
}

function done({ output, terminal }: Session, result: { from: string; to: string; bytes: number }): Promise<void> {
  terminal.progress('')
  return output.done(`${result.from} copied to ${result.to}: ${formatBytes(result.bytes)}`, { data: result })
}

/** Returns a usage error for an error of the file system of this machine, and other errors unchanged. */
function fileErrorOf(error: unknown, text: string): Error {
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall === undefined ? (error as Error) : usageError(`${text} (${code}).`)
}

const progressMs = 200

/** `ProgressCounter` counts the bytes that pass through it, and shows the progress. */
class ProgressCounter extends Transform {
  readonly #terminal: Terminal
  readonly #size: () => number | undefined
  readonly #startedAt = performance.now()
  #shownAt = 0
  bytes = 0

  constructor(terminal: Terminal, size: () => number | undefined) {
    super()
    this.#terminal = terminal
    this.#size = size
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.bytes += chunk.length
    const now = performance.now()
    if (now - this.#shownAt > progressMs) {
      this.#shownAt = now
      this.#terminal.progress(progressText(this.bytes, this.#size(), (now - this.#startedAt) / 1_000))
    }
    done(null, chunk)
  }
}

export function progressText(bytes: number, size: number | undefined, seconds: number): string {
  const rate = seconds > 0 ? `, ${formatBytes(Math.round(bytes / seconds))}/s` : ''
  if (size === undefined || size === 0) return `${formatBytes(bytes)}${rate}`
  return `${Math.min(100, Math.floor((bytes / size) * 100))} %: ${formatBytes(bytes)} of ${formatBytes(size)}${rate}`
}
