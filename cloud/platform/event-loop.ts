/**
 * Shares the event loop between tenants.
 *
 * Long synchronous work is split into slices of 5 ms. In each turn of the event loop, the process runs only one slice,
 * so ten large requests delay a small request no more than one large request does. While other tenants have requests in
 * progress, a tenant that used more time than they did waits between its slices, for 40 ms at most. A tenant that
 * floods the platform therefore still gets about a tenth of the time, and more as soon as other tenants need less.
 */

/** How long sliced work may occupy one turn of the event loop. Other requests wait during this time. */
const turnMs = 5
/** The longest time for which sliced work waits for requests of other tenants. */
const longestWaitMs = 40
/** A request counts as in progress for this time at most, because a request that waits for an event needs no processor. */
const progressMs = 100
/** The half-life of used time: time that a tenant used this long ago counts half. */
const halfLifeMs = 500
/** If `usedTime` has more tenants than this, tenants that used no time recently are removed from it. */
const mostTenants = 1_000

type Waiting = { tenantId: string; since: number; priority: number; run: () => void }
type Request = { tenantId: string; startedAt: number; hasEnded: boolean }

/** The sliced work that waits for its next turn. The work that has waited longest is first. */
const waiting: Waiting[] = []
/** The requests of the last 100 ms, oldest first. */
const recent: Request[] = []
/** The number of requests in progress per tenant. */
const inProgress = new Map<string, number>()
const usedTime = new Map<string, { ms: number; at: number }>()
let isScheduled = false
let timer: NodeJS.Timeout | undefined

/**
 * The priorities of the sliced work of one tenant. Statements have the highest priority, because the database waits for
 * them. Decisions about accepted writes come before new requests, because statements follow from them. Otherwise new
 * requests would take all turns, and the database would be idle.
 */
export const priorities = { request: 0, decision: 1, statement: 2 } as const

type YieldOptions = { priority?: number }

/**
 * Splits long synchronous work of a tenant into turns of the event loop. Call the returned function between two steps of
 * the work. It waits if the time of the turn is used up.
 */
export function createYield(tenantId: string, options: YieldOptions = {}): () => Promise<void> | undefined {
  let start = performance.now()
  return () => {
    const now = performance.now()
    if (now - start < turnMs) return undefined
    noteUse(tenantId, Math.min(now - start, 2 * turnMs), now)
    return nextTurn(tenantId, options).then(() => {
      start = performance.now()
    })
  }
}

/** Waits for the turn of a tenant, before work that cannot be split, such as the parsing of a large body. */
export function nextTurn(tenantId: string, { priority = priorities.request }: YieldOptions = {}): Promise<void> {
  return new Promise((resolve) => {
    waiting.push({ tenantId, since: performance.now(), priority, run: resolve })
    schedule()
  })
}

/** Records that a tenant used time of the event loop. */
export function noteUse(tenantId: string, ms: number, now = performance.now()): void {
  usedTime.set(tenantId, { ms: usedBy(tenantId, now) + ms, at: now })
  if (usedTime.size > mostTenants) for (const [other] of usedTime) if (usedBy(other, now) < 1) usedTime.delete(other)
}

/**
 * Counts a request as in progress. Returns a function that ends the count. Sliced work of other tenants yields to the
 * request.
 */
export function noteRequest(tenantId: string): () => void {
  const startedAt = performance.now()
  endOldRequests(startedAt)
  const request: Request = { tenantId, startedAt, hasEnded: false }
  recent.push(request)
  inProgress.set(tenantId, (inProgress.get(tenantId) ?? 0) + 1)
  return () => end(request)
}

function end(request: Request): void {
  if (request.hasEnded) return
  request.hasEnded = true
  const left = (inProgress.get(request.tenantId) ?? 1) - 1
  if (left > 0) inProgress.set(request.tenantId, left)
  else inProgress.delete(request.tenantId)
  if (waiting.length > 0) schedule()
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  clearTimeout(timer)
  timer = undefined
  setImmediate(runNext)
}

function runNext(): void {
  isScheduled = false
  const now = performance.now()
  endOldRequests(now)
  const next = nextWaiting(now)
  if (next >= 0) waiting.splice(next, 1)[0]?.run()
  if (waiting.length === 0) return
  if (next >= 0) schedule()
  else timer ??= setTimeout(schedule, Math.max(1, (waiting[0]?.since ?? now) + longestWaitMs - now))
}

/** Returns the index of the work that runs next, or -1 if all work waits for requests of other tenants. */
function nextWaiting(now: number): number {
  const next = waiting.findIndex(({ tenantId, since }) => now - since >= longestWaitMs || !givesWay(tenantId, now))
  const first = waiting[next]
  if (first === undefined || now - first.since >= longestWaitMs) return next
  let highest = next
  for (let index = next + 1; index < waiting.length; index++) {
    const other = waiting[index]
    if (other?.tenantId === first.tenantId && other.priority > (waiting[highest]?.priority ?? 0)) highest = index
  }
  return highest
}

/** Returns whether another tenant that used less time has a request in progress. */
function givesWay(tenantId: string, now: number): boolean {
  const used = usedBy(tenantId, now)
  for (const other of inProgress.keys()) if (other !== tenantId && usedBy(other, now) < used) return true
  return false
}

function endOldRequests(now: number): void {
  for (;;) {
    const [oldest] = recent
    if (oldest === undefined || (!oldest.hasEnded && now - oldest.startedAt < progressMs)) break
    recent.shift()
    end(oldest)
  }
}

function usedBy(tenantId: string, now: number): number {
  const used = usedTime.get(tenantId)
  return used === undefined ? 0 : used.ms * 0.5 ** ((now - used.at) / halfLifeMs)
}
