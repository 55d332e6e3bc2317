import { StringDecoder } from 'node:string_decoder'
import { remoteAccessLimits } from '@millwright/api/remote-access.ts'
import type { Context } from '../../platform/service.ts'
import { chainOf } from './recording-reader.ts'
import { insertPart, partOwner } from './recording-store.ts'
import { endByPlatform } from './session-end.ts'
import { lockSession, type SessionRow } from './session-store.ts'

/** The maximum size of a part of a recording. */
const partBytes = 1024 * 1024
/** Lines are stored after this time, or when there are this many bytes. */
const storeMs = 1_000
const storeBytes = 64 * 1024
/** Above this number of bytes that wait to be stored, the source must wait. */
const waitingBytes = 1024 * 1024

/**
 * `Recorder` stores the lines of the recording of one session. It collects them and stores them in sealed parts. Several
 * processes can write lines of one session: the lock of the session orders their parts.
 */
export class Recorder {
  readonly #context: Context
  readonly #scope: { tenantId: string }
  readonly #id: string
  #lines: Buffer[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #storing: Promise<void> = Promise.resolve()

  constructor(context: Context, scope: { tenantId: string }, id: string) {
    this.#context = context
    this.#scope = { tenantId: scope.tenantId }
    this.#id = id
  }

  /** Adds a line. Returns false if the source should wait until `flush` is done. */
  line(text: string): boolean {
    const line = Buffer.from(`${text}\n`)
    this.#lines.push(line)
    this.#bytes += line.length
    if (this.#bytes >= storeBytes) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), storeMs).unref()
    return this.#bytes < waitingBytes
  }

  /** Stores all lines. It does not throw: if the lines cannot be stored, the session ends. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#storing = this.#storing.then(() => this.#store()).catch((error: unknown) => this.#fail(error))
    return this.#storing
  }

  async #store(): Promise<void> {
    while (this.#lines.length > 0) {
      const part = this.#takePart()
      const bytes = await this.#storePart(part)
      if (bytes !== undefined && bytes >= remoteAccessLimits.recordingBytes) {
        const detail = `The recording has reached ${remoteAccessLimits.recordingBytes / 1024 ** 2} MiB, which is the limit`
        await endByPlatform(this.#context, this.#scope.tenantId, { id: this.#id, ending: 'recording-full', detail })
      }
    }
  }

  /** Removes the next lines, up to the size of a part. */
  #takePart(): Buffer {
    const taken: Buffer[] = []
    let size = 0
    for (let line = this.#lines[0]; line !== undefined; line = this.#lines[0]) {
      if (taken.length > 0 && size + line.length > partBytes) break
      this.#lines.shift()
      taken.push(line)
      size += line.length
    }
    this.#bytes -= size
    return Buffer.concat(taken)
  }

  /** Stores a part. Returns the size of the recording, or undefined if the session is closed already. */
  #storePart(part: Buffer): Promise<number | undefined> {
    const { database, safe } = this.#context
    return database.transaction(this.#scope, async (tx) => {
      const row = await lockSession(tx, this.#id)
      if (row === undefined || row.closedAt !== null) return undefined
      const number = row.recordingParts
      const chain = chainOf(row.recordingChain, part)
      const sealed = await safe.seal(tx, part, partOwner(this.#id, number))
      await insertPart(tx, { sessionId: this.#id, number, sealed, chain, bytes: part.length })
      return row.recordingBytes + part.length
    })
  }

  async #fail(error: unknown): Promise<void> {
    this.#lines = []
    this.#bytes = 0
    this.#context.log.error({ error, session: this.#id }, 'A recording could not be stored; its session ends')
    const detail = 'The recording of the session could not be stored'
    await endByPlatform(this.#context, this.#scope.tenantId, { id: this.#id, ending: 'recording-full', detail }).catch(
      (failure: unknown) =>
        this.#context.log.error({ error: failure, session: this.#id }, 'A session could not be ended'),
    )
  }
}

type Size = { columns: number; rows: number }

/**
 * `TerminalRecorder` records a terminal in asciicast format, version 2. It records the output of the device, the size of the
 * terminal, and markers. It never records the keyboard, because passwords are typed without an echo. The device echoes all
 * other input, so the output contains it.
 */
export class TerminalRecorder {
  readonly #recorder: Recorder
  readonly #startMs: number
  readonly #decoder = new StringDecoder('utf8')

  constructor(recorder: Recorder, row: SessionRow, size: Size) {
    this.#recorder = recorder
    this.#startMs = Date.parse(row.openedAt ?? row.createdAt)
    if (row.recordingParts === 0) {
      const timestamp = Math.floor(this.#startMs / 1_000)
      const header = { version: 2, width: size.columns, height: size.rows, timestamp, title: row.assetName }
      recorder.line(JSON.stringify(header))
    }
  }

  /** Records output of the device. Returns false if the source should wait until `flush` is done. */
  output(bytes: Uint8Array): boolean {
    return this.#event('o', this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)))
  }

  /** Records the size of the terminal. Returns false if the source should wait until `flush` is done. */
  resize({ columns, rows }: Size): boolean {
    return this.#event('r', `${columns}x${rows}`)
  }

  marker(text: string): void {
    this.#event('m', text)
  }

  flush(): Promise<void> {
    return this.#recorder.flush()
  }

  async end(): Promise<void> {
    this.#event('o', this.#decoder.end())
    await this.#recorder.flush()
  }

  #event(code: 'o' | 'r' | 'm', text: string): boolean {
    if (text === '') return true
    const seconds = Math.max(0, Date.now() - this.#startMs) / 1_000
    return this.#recorder.line(JSON.stringify([seconds, code, text]))
  }
}

/** `Recorders` holds the recorders of this process, so that all streams of a session write to the same one. */
export class Recorders {
  readonly #context: Context
  readonly #recorders = new Map<string, { recorder: Recorder; users: number }>()

  constructor(context: Context) {
    this.#context = context
  }

  /** Returns the recorder of a session, if the policy requires a recording. The caller must call `release` at the end. */
  of(
    scope: { tenantId: string },
    row: Pick<SessionRow, 'id' | 'service' | 'recording'>,
  ): { recorder: Recorder; release: () => Promise<void> } | undefined {
    const isRecorded = row.service === 'ssh' ? row.recording !== 'none' : row.recording === 'all'
    if (!isRecorded || row.service === 'tcp') return undefined
    const held = this.#recorders.get(row.id) ?? { recorder: new Recorder(this.#context, scope, row.id), users: 0 }
    held.users += 1
    this.#recorders.set(row.id, held)
    let isReleased = false
    return {
      recorder: held.recorder,
      release: async () => {
        if (isReleased) return
        isReleased = true
        held.users -= 1
        if (held.users === 0) this.#recorders.delete(row.id)
        await held.recorder.flush()
      },
    }
  }
}
