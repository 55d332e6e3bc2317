import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { AnyInput } from '@millwright/api/client.ts'
import type { Contract } from '@millwright/api/contract.ts'
import { problemFrom } from '@millwright/api/problem.ts'
import { isTransientCode } from '@millwright/api/transient.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { splitResponse } from '../session/response-text.ts'
import { problemOf, type Session } from '../session/session.ts'

export type Message = { id: string | undefined; event: string; data: string }

type StreamRequest = {
  contract: Contract
  operation: string
  input?: AnyInput
  signal?: AbortSignal
  onOpen?: () => void
}

/** The back-off between reconnects, for example while the platform restarts. */
const reconnect = { firstMs: 1_000, longestMs: 15_000 } as const

/**
 * Reads a stream of server-sent events. After a lost connection, the function reconnects and continues after the last
 * event, so that no event is lost. The stream ends when `signal` is aborted or when the platform rejects the request.
 */
export async function* messages(session: Session, request: StreamRequest): AsyncGenerator<Message> {
  let last: string | undefined
  const backOff = new BackOff(reconnect)
  while (request.signal?.aborted !== true) {
    try {
      for await (const message of await openStream(session, request, last)) {
        backOff.reset()
        last = message.id ?? last
        if (message.event === 'end') requireExpiredToken(message.data)
        else if (message.data !== '') yield message
      }
    } catch (error) {
      if (request.signal?.aborted) return
      if (!isTransient(error)) throw error
    }
    await pause(backOff.nextMs(), request.signal)
  }
}

/** Throws unless the stream ended because the token expired. After an expired token, the reconnect uses a new token. */
function requireExpiredToken(data: string): void {
  const problem = problemFrom(JSON.parse(data), 401)
  if (problem.code !== 'unauthenticated') throw problem
}

/**
 * Returns true for errors after which a reconnect can succeed. `fetch` throws a `TypeError` when the platform is
 * unreachable.
 */
function isTransient(error: unknown): boolean {
  if (error instanceof CommandError) return error.exitCode === exitCodes.unreachable
  const { code = '', name } = error as { code?: string; name?: string }
  return isTransientCode(code) || name === 'TypeError'
}

async function openStream(
  session: Session,
  { contract, operation, input = {}, signal, onOpen }: StreamRequest,
  last: string | undefined,
): Promise<AsyncGenerator<Message>> {
  const headers = { ...input.headers, ...(last === undefined ? {} : { 'last-event-id': last }) }
  const response = await session.open(contract, operation, { ...input, headers }, signal)
  if (response.status >= 400) {
    const text = await response.text()
    const body = text.startsWith('{') ? JSON.parse(text) : text
    throw problemOf(contract, { status: response.status, headers: response.headers, body })
  }
  onOpen?.()
  return messagesIn(response)
}

async function* messagesIn(response: Response): AsyncGenerator<Message> {
  for await (const block of splitResponse(response, '\n\n')) yield messageOf(block)
}

/** Parses one message of a stream of server-sent events. */
export function messageOf(block: string): Message {
  const message: Message = { id: undefined, event: 'message', data: '' }
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    if (field === 'id') message.id = value
    if (field === 'event') message.event = value
    if (field === 'data') data.push(value)
  }
  return { ...message, data: data.join('\n') }
}
