import { setTimeout as delay } from 'node:timers/promises'
import { type Delivery, type DeliveryState, deliveryStates } from '@millwright/api/event-subscriptions.ts'
import { events, eventTypePrefix } from '@millwright/api/events.ts'
import { type Command, Option } from 'commander'
import { pagesOf, wholeNumber } from '../output/paging.ts'
import { type Columns, Table } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { type SubscriptionKind, subscriptionId } from './subscription-kind.ts'

/** This file adds the commands for the log of deliveries. */

type LogFilter = { state?: DeliveryState; deadLetters?: boolean }
type ListOptions = LogFilter & { limit: number; all?: boolean; follow?: boolean }
type Log = { kind: SubscriptionKind; id: string; filter: LogFilter }

const columns: Columns = {
  time: 'createdTimestamp',
  state: (row) => (row.isDeadLetter === true ? 'dead letter' : row.state),
  type: ({ type }) => String(type).replace(eventTypePrefix, ''),
  subject: 'subject',
  attempts: 'attemptCount',
  status: ({ attempts }) => (attempts as Delivery['attempts']).at(-1)?.status,
  'next attempt': 'nextAttemptTimestamp',
  error: ({ attempts }) => (attempts as Delivery['attempts']).at(-1)?.error,
  id: 'id',
}

const pollMs = 1_000
/** How many deliveries are printed when the log is followed, before the new ones. */
const firstShown = 10
const pageSize = 100
/** The maximum number of pages that are read at once while the log is followed. */
const followedPages = 10

export function addDeliveries(parent: Command, terminal: Terminal, kind: SubscriptionKind): void {
  platformCommand(
    parent
      .command('deliveries')
      .description('list deliveries, newest first')
      .argument(kind.argument, 'id or name')
      .addOption(new Option('--state <state>', 'deliveries in this state').choices(deliveryStates))
      .option('--dead-letters', 'only events that are not sent again unless you retry them')
      .option('--follow', 'print new deliveries and changes until Ctrl-C, instead of a list')
      .option('--limit <count>', 'maximum number of entries, up to 100', wholeNumber(1, pageSize), 50)
      .option('--all', 'read all pages'),
    terminal,
    (session, nameOrId: string, options: ListOptions) => list(session, kind, { nameOrId, ...options }),
  )

  platformCommand(
    parent
      .command('delivery')
      .description('show a delivery: its request, and the responses')
      .argument(kind.argument, 'id or name')
      .argument('<delivery>', 'id of the delivery'),
    terminal,
    async (session, nameOrId: string, deliveryId: string) => {
      const id = await subscriptionId(session, kind, nameOrId)
      await session.output.show(await session.api(events)[kind.operations.delivery]({ params: { id, deliveryId } }))
    },
  )
}

async function list(
  session: Session,
  kind: SubscriptionKind,
  { nameOrId, state, deadLetters, follow, limit, all = false }: ListOptions & { nameOrId: string },
): Promise<void> {
  const id = await subscriptionId(session, kind, nameOrId)
  const filter = {
    ...(state === undefined ? {} : { state }),
    ...(deadLetters === undefined ? {} : { deadLetters }),
  }
  const log = { kind, id, filter }
  if (follow === true) return followLog(session, log)
  const pages = pagesOf({ limit, offset: 0, all }, ({ limit: size, cursor }) => readPage(session, log, size, cursor))
  await session.output.list(await pages, { columns, nothing: 'No delivery matches.' })
}

function readPage({ api }: Session, { kind, id, filter }: Log, limit: number, cursor?: string) {
  const query = { ...filter, limit, ...(cursor === undefined ? {} : { cursor }) }
  return api(events)[kind.operations.deliveries]({ params: { id }, query })
}

/**
 * Prints the newest deliveries, and then every new delivery and every change of the deliveries on the newest page, oldest
 * first. Ctrl-C ends the command.
 */
async function followLog(session: Session, log: Log): Promise<void> {
  const { terminal, output } = session
  const interruption = new AbortController()
  const release = terminal.onInterrupt(() => interruption.abort())
  const table = new Table(columns, terminal)
  try {
    for (let known: LogSnapshot | undefined; !interruption.signal.aborted; ) {
      const { deliveries, isComplete } = await newest(session, log, known)
      if (!isComplete) terminal.note(`More than ${deliveries.length} new deliveries. The older ones are not shown.`)
      const changed = changedSince(known, deliveries).toReversed()
      if (changed.length > 0)
        for (const line of output.isText ? table.lines(changed) : changed.map((one) => JSON.stringify(one)))
          await terminal.print(line)
      known = snapshotOf(deliveries)
      await delay(pollMs, undefined, { signal: interruption.signal }).catch(() => {})
    }
  } finally {
    release()
  }
}

/** The versions of the deliveries that were read before, by id. Ids increase with the time. `oldest` is empty for all. */
type LogSnapshot = { versions: ReadonlyMap<string, string>; oldest: string }

function snapshotOf(deliveries: readonly Delivery[]): LogSnapshot {
  const oldest = deliveries.length < pageSize ? '' : (deliveries.at(-1)?.id ?? '')
  return { versions: new Map(deliveries.map((delivery) => [delivery.id, versionOf(delivery)])), oldest }
}

function versionOf({ state, attemptCount, isDeadLetter }: Delivery): string {
  return `${state} ${attemptCount} ${isDeadLetter}`
}

/** Returns the new and the changed deliveries, newest first. At the start, these are the newest ones. */
function changedSince(known: LogSnapshot | undefined, deliveries: readonly Delivery[]): Delivery[] {
  if (known === undefined) return deliveries.slice(0, firstShown)
  return deliveries.filter((delivery) => {
    const version = known.versions.get(delivery.id)
    return version === undefined ? delivery.id > known.oldest : version !== versionOf(delivery)
  })
}

/** Reads the newest deliveries. Reads further pages until one contains a delivery that was read before. */
async function newest(session: Session, log: Log, known: LogSnapshot | undefined) {
  const deliveries: Delivery[] = []
  let cursor: string | undefined
  for (let page = 0; page < followedPages; page++) {
    const { data, meta } = await readPage(session, log, pageSize, cursor)
    deliveries.push(...data)
    cursor = meta.nextCursor
    const isReached = known === undefined || data.some(({ id }) => known.versions.has(id))
    if (isReached || cursor === undefined) return { deliveries, isComplete: true }
  }
  return { deliveries, isComplete: false }
}
