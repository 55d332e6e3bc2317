import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../access/caller.ts'
import type { Rights } from '../access/rights.ts'
import { isTransient } from '../database/transient.ts'
import type { Context } from '../service.ts'
import type { Feed } from './feed.ts'
import { endMessage, heartbeat, openingMessage } from './message.ts'
import { requireAvailable } from './position.ts'
import { extent } from './store.ts'
import type { Message, Tail } from './tail.ts'

/**
 * How often the rights of a reader are checked while there are no events. They are also checked before each event is
 * sent.
 */
const checkMs = 1_000
const usualHeartbeatMs = 15_000

type StreamOptions = {
  caller: Caller
  /**
   * Returns the text to send for the messages that match the reader's filter and rights. The text is empty if no
   * message matches.
   */
  format: (messages: readonly Message[], holder: { rights: Rights }) => string | Promise<string>
  /** The last position that the reader received. If undefined, the stream starts at the newest position. */
  after: number | undefined
  heartbeatMs?: number
}

/** Streams events after a position until the reader disconnects. */
export async function openStream(
  context: Context,
  feed: Feed,
  options: StreamOptions,
): Promise<AsyncIterableIterator<string>> {
  const free = feed.register(options.caller)
  try {
    const kept = await context.database.read(options.caller, extent)
    const after = options.after ?? kept.newest
    requireAvailable(after, kept)
    const { tail, leave } = feed.join(options.caller, kept.newest)
    const stop = new AbortController()
    const messages = follow(context, tail, { ...options, after, signal: stop.signal })
    return endable(messages, () => {
      stop.abort()
      leave()
      free()
    })
  } catch (error) {
    free()
    throw error
  }
}

type FollowOptions = StreamOptions & { after: number; signal: AbortSignal }

async function* follow(context: Context, tail: Tail, following: FollowOptions): AsyncGenerator<string> {
  const { caller, format, signal, heartbeatMs = usualHeartbeatMs } = following
  let position = following.after
  let sentAtMs = performance.now()
  const markSent = (text: string) => {
    sentAtMs = performance.now()
    return text
  }
  yield markSent(openingMessage(position))
  while (!signal.aborted) {
    const step = await next(context, tail, { caller, position })
    if (step.end !== undefined) {
      yield endMessage(step.end)
      return
    }
    const text = step.messages.length === 0 ? '' : await format(step.messages, step)
    position = step.messages.at(-1)?.position ?? position
    if (text !== '') yield markSent(text)
    else if (performance.now() - sentAtMs >= heartbeatMs) yield markSent(heartbeat(position))
    else if (step.messages.length === 0)
      await tail.wait(step.failed ? Infinity : position, { signal, ms: msUntilCheck(caller) })
  }
}

type Step = {
  rights: Rights
  messages: readonly Message[]
  failed: boolean
  end?: Problem
}

/**
 * Reads the messages after the position, and the current rights of the caller. Returns no messages while the database
 * is unavailable.
 */
async function next(
  context: Context,
  tail: Tail,
  { caller, position }: { caller: Caller; position: number },
): Promise<Step> {
  const step: Step = { rights: caller.rights, messages: [], failed: false }
  try {
    requireUnexpired(caller)
    // The rights are checked after the messages are read, so that the check is newer than the data.
    const messages = await tail.after(position)
    return { ...step, messages, rights: await rightsNow(context, caller) }
  } catch (error) {
    if (!(error instanceof Problem))
      context.log.error({ requestId: caller.request.id, error }, 'An event stream failed')
    if (isTransient(error)) return { ...step, failed: true }
    return {
      ...step,
      end:
        error instanceof Problem
          ? error
          : new Problem('internal', 'An unexpected error occurred. The error was logged'),
    }
  }
}

/** Returns the current rights of the stream's token. Throws with the reason if the token is no longer valid. */
async function rightsNow({ access, tenants }: Context, caller: Caller): Promise<Rights> {
  if (caller.principal.kind === 'system') return caller.rights
  const { roles, token } = caller
  const tenant = await tenants.byId(caller.tenantId)
  if (tenant?.state !== 'active') throw new Problem('tenant_suspended', `The tenant ${caller.tenantName} is suspended`)
  const held = await access.of(caller.tenantId, caller.principal.id)
  if (held === undefined || held.principal.disabled)
    throw new Problem('unauthenticated', 'The principal of the access token no longer exists or is disabled')
  if (token?.ids?.some((id) => held.revoked.has(id)) === true)
    throw new Problem('unauthenticated', 'The access token was revoked. Sign in again')
  return access.effective(held, { roles, ...(token?.grants === undefined ? {} : { grants: token.grants }) })
}

function requireUnexpired({ token }: Caller): void {
  if (token === undefined || token.expiresAt > Date.now()) return
  throw new Problem(
    'unauthenticated',
    'The access token has expired. Connect again with a new token and the header Last-Event-ID',
  )
}

/** Returns the time until the next check of the rights, or until the token expires if that is earlier. */
function msUntilCheck({ token }: Caller): number {
  return token === undefined ? checkMs : Math.max(1, Math.min(checkMs, token.expiresAt - Date.now()))
}

/**
 * Wraps a generator so that `return` can end it while `next` waits. The waiting reader then gets the end of the
 * stream. `free` also runs if `next` was never called.
 */
function endable(messages: AsyncGenerator<string>, free: () => void): AsyncIterableIterator<string> {
  return {
    async next() {
      try {
        const result = await messages.next()
        if (result.done === true) free()
        return result
      } catch (error) {
        free()
        throw error
      }
    },
    async return() {
      free()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
