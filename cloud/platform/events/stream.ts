import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../access/caller.ts'
import type { Rights } from '../access/rights.ts'
import { isTransient } from '../database/transient.ts'
import type { Context } from '../service.ts'
import type { Feed } from './feed.ts'
import { endMessage, heartbeat, openingMessage } from './message.ts'
import { requireKept } from './position.ts'
import { extent } from './store.ts'
import type { Message, Tail } from './tail.ts'

/** How often the rights of a reader are looked at when nothing happens; when something does, each time. */
const checkMs = 1_000
const usualHeartbeatMs = 15_000

type Wish = {
  caller: Caller
  /** What the reader wants of these and may see with the rights it has now, as it is sent; empty when that is nothing. */
  tell: (messages: readonly Message[], holder: { rights: Rights }) => string | Promise<string>
  /** The last position seen; now when there is none. */
  after: number | undefined
  heartbeatMs?: number
}

/** Events from a position on, for as long as somebody reads. */
export async function openStream(context: Context, feed: Feed, wish: Wish): Promise<AsyncIterableIterator<string>> {
  const free = feed.admit(wish.caller)
  try {
    const kept = await context.database.read(wish.caller, extent)
    const after = wish.after ?? kept.newest
    requireKept(after, kept)
    const { tail, leave } = feed.join(wish.caller, kept.newest)
    const stop = new AbortController()
    const messages = follow(context, tail, { ...wish, after, signal: stop.signal })
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

type Following = Wish & { after: number; signal: AbortSignal }

async function* follow(context: Context, tail: Tail, following: Following): AsyncGenerator<string> {
  const { caller, tell, signal, heartbeatMs = usualHeartbeatMs } = following
  let position = following.after
  let saidAt = performance.now()
  const say = (text: string) => {
    saidAt = performance.now()
    return text
  }
  yield say(openingMessage(position))
  while (!signal.aborted) {
    const step = await next(context, tail, { caller, position })
    if (step.end !== undefined) {
      yield endMessage(step.end)
      return
    }
    const told = step.messages.length === 0 ? '' : await tell(step.messages, step)
    position = step.messages.at(-1)?.position ?? position
    if (told !== '') yield say(told)
    else if (performance.now() - saidAt >= heartbeatMs) yield say(heartbeat(position))
    else if (step.messages.length === 0)
      await tail.wait(step.failed ? Infinity : position, { signal, ms: patience(caller) })
  }
}

type Step = {
  rights: Rights
  messages: readonly Message[]
  failed: boolean
  end?: Problem
}

/** What comes next, and what the caller may see of it now. While the database is away nothing does. */
async function next(
  context: Context,
  tail: Tail,
  { caller, position }: { caller: Caller; position: number },
): Promise<Step> {
  const step: Step = { rights: caller.rights, messages: [], failed: false }
  try {
    requireUnexpired(caller)
    // The rights last: what is shown was allowed after it was read.
    const messages = await tail.after(position)
    return { ...step, messages, rights: await rightsNow(context, caller) }
  } catch (error) {
    if (!(error instanceof Problem)) context.log.error({ requestId: caller.request.id, error }, 'a stream failed')
    if (isTransient(error)) return { ...step, failed: true }
    return { ...step, end: error instanceof Problem ? error : new Problem('internal', 'The fault was logged') }
  }
}

/** What the token of a stream may do now. Throws when it may not do anything any more, and says why. */
async function rightsNow({ access, tenants }: Context, caller: Caller): Promise<Rights> {
  if (caller.principal.kind === 'system') return caller.rights
  const { roles, token } = caller
  const tenant = await tenants.byId(caller.tenantId)
  if (tenant?.state !== 'active') throw new Problem('tenant_suspended', `The tenant ${caller.tenantName} is suspended`)
  const held = await access.of(caller.tenantId, caller.principal.id)
  if (held === undefined || held.principal.disabled)
    throw new Problem('unauthenticated', 'The principal of the access token does not exist any more, or is disabled')
  if (token?.ids?.some((id) => held.revoked.has(id)) === true)
    throw new Problem('unauthenticated', 'The access token was revoked: sign in again')
  return access.effective(held, { roles, ...(token?.grants === undefined ? {} : { grants: token.grants }) })
}

function requireUnexpired({ token }: Caller): void {
  if (token === undefined || token.expiresAt > Date.now()) return
  throw new Problem('unauthenticated', 'The access token has expired: come back with a new one and Last-Event-ID')
}

/** Until the rights are looked at again, or the token expires. */
function patience({ token }: Caller): number {
  return token === undefined ? checkMs : Math.max(1, Math.min(checkMs, token.expiresAt - Date.now()))
}

/**
 * A generator that waits cannot be ended from outside. This can: whoever waits for the next message is told that there
 * is none, and what it held is given back, even when it was never begun.
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
