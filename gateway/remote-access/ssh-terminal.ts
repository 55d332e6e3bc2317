import { PassThrough } from 'node:stream'
import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import type { SshConnection } from './ssh-connection.ts'
import type { StreamInput } from './stream-input.ts'

/** The maximum number of columns and rows of a terminal. */
const mostCells = 1_000

export type TerminalSize = { columns: number; rows: number }

type TerminalOptions = { connection: SshConnection; stream: TunnelStream; input: StreamInput; size: TerminalSize }

/**
 * Connects a stream to a terminal of the device. The message `exit` and the end of the stream follow the last byte of the
 * terminal. Throws a `StreamRefusal` if the device opens no terminal.
 */
export async function serveTerminal({ connection, stream, input, size }: TerminalOptions): Promise<void> {
  let current = size
  let resize = () => {}
  input.onMessage('size', (message) => {
    const changed = sizeIn(message)
    if (changed === undefined) return
    current = changed
    resize()
  })
  await connection.signedIn
  // From now on the client has to wait while the device opens the terminal.
  const typed = new PassThrough()
  input.pipeTo(typed)
  const channel = await connection.shell(current)
  resize = () => channel.setWindow(current.rows, current.columns, 0, 0)
  stream.on('close', () => channel.close())
  if (stream.destroyed) return void channel.close()
  let exit: { code?: number; signal?: string } | undefined
  channel.on('exit', (code: number | null, signal?: string) => {
    exit = { ...(code !== null && { code }), ...(signal !== undefined && { signal: connection.cleanText(signal) }) }
  })
  channel.on('error', () => undefined)
  channel.on('close', () => {
    if (stream.destroyed) return
    // Some devices send no exit status. A lost connection has no exit status either.
    if (exit === undefined && connection.closed.aborted) return stream.reset(connection.failure)
    stream.sendMessage({ type: 'exit', ...exit })
    stream.end()
  })
  channel.pipe(stream, { end: false })
  channel.stderr.pipe(stream, { end: false })
  typed.pipe(connection.sinkOf(channel))
}

function sizeIn({ columns, rows }: StreamMessage): TerminalSize | undefined {
  const isValid = (cells: unknown): cells is number =>
    Number.isInteger(cells) && Number(cells) >= 1 && Number(cells) <= mostCells
  return isValid(columns) && isValid(rows) ? { columns, rows } : undefined
}
