import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { AnyInput } from '@millwright/api/client.ts'
import type { Contract } from '@millwright/api/contract.ts'
import { problemFrom } from '@millwright/api/problem.ts'
import { isTransientCode } from '@millwright/api/transient.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { piecesOf } from '../session/response-text.ts'
import { problemOf, type Session } from '../session/session.ts'

export type Message = { id: string | undefined; event: string; data: string }

type Wanted = { contract: Contract; operation: string; input?: AnyInput; signal?: AbortSignal; onOpen?: () => void }

/** Patience with a platform that is being started again. */
const reconnect = { firstMs: 1_000, longestMs: 15_000 } as const

/**
 * Messages as they happen, from now on or after a position. When the connection ends it is opened again where it
 * ended, so that nothing is missed; it goes on until the signal, or until the platform refuses.
 */
export async function* messages(session: Session, wanted: Wanted): AsyncGenerator<Message> {
  let last: string | undefined
  const backOff = new BackOff(reconnect)
  while (wanted.signal?.aborted !== true) {
    try {
      for await (const message of await opened(session, wanted, last)) {
        backOff.reset()
        last = message.id ?? last
        if (message.event === 'end') requireEndOfToken(message.data)
        else if (message.data !== '') yield message
      }
    } catch (error) {
      if (wanted.signal?.aborted) return
      if (!isTransient(error)) throw error
    }
    await pause(backOff.nextMs(), wanted.signal)
  }
}

/** A token that has ended is renewed by coming back; any other end is one. */
function requireEndOfToken(data: string): void {
  const problem = problemFrom(JSON.parse(data), 401)
  if (problem.code !== 'unauthenticated') throw problem
}

/** Also when the platform cannot be reached: `fetch` then throws a `TypeError`. */
function isTransient(error: unknown): boolean {
  if (error instanceof CommandError) return error.exitCode === exitCodes.unreachable
  const { code = '', name } = error as { code?: string; name?: string }
  return isTransientCode(code) || name === 'TypeError'
}

async function opened(
  session: Session,
  { contract, operation, input = {}, signal, onOpen }: Wanted,
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
  return parsed(response)
}

async function* parsed(response: Response): AsyncGenerator<Message> {
  for await (const block of piecesOf(response, '\n\n')) yield messageOf(block)
}

/** One message as server-sent events write it. */
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
