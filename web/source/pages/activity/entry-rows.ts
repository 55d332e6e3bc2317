import type { ActivityEntry } from '@millwright/api/activity.ts'

/** A row of the list: an entry, or several similar entries in succession. The first entry is the newest one. */
export type EntryRow = {
  entry: ActivityEntry
  others: ActivityEntry[]
  /** Further similar entries can follow on the next page, so the number of entries is not known yet. */
  isOpen: boolean
  /** The begin of the outage whose end is the entry. */
  begin?: ActivityEntry
}

/** The smallest number of similar entries that are shown as one row. */
const fewest = 3
const fewestSignIns = 2

/**
 * Combines similar entries in succession, so that repeated sign-ins or changes of single assets do not fill the page. Entries
 * are similar if they have the same author, action, outcome and changed fields, and starts also the same object. The sign-ins of a
 * person on a day are one row, also if other entries are between them. An assignment that has ended is one entry, and an outage that
 * has ended is one row.
 */
export function rowsOf(entries: readonly ActivityEntry[], { hasMore = false } = {}): EntryRow[] {
  const single = withLinksOfGateway(withStartedScans(withoutStarts(entries)))
  const begins = beginsOfEnded(single)
  const hidden = new Set(begins.values())
  const runs: ActivityEntry[][] = []
  for (const entry of single.filter((each) => !hidden.has(each))) {
    const run = isSignIn(entry) ? runs.findLast(([first]) => first && isSimilar(first, entry)) : runs.at(-1)
    const isJoined = run?.[0] !== undefined && !begins.has(run[0]) && !begins.has(entry) && isSimilar(run[0], entry)
    if (run !== undefined && isJoined) run.push(entry)
    else runs.push([entry])
  }
  const lastDay = dayOf(entries.at(-1)?.time ?? '')
  return runs.flatMap((run, index) => {
    const [entry, ...others] = run
    if (entry === undefined) return []
    if (run.length < (isSignIn(entry) ? fewestSignIns : fewest))
      return run.map((one) => {
        const begin = begins.get(one)
        return { entry: one, others: [], isOpen: false, ...(begin !== undefined && { begin }) }
      })
    const canContinue = isSignIn(entry) ? dayOf(entry.time) === lastDay : index === runs.length - 1
    return [{ entry: { ...entry, ...combinedGroup(run) }, others, isOpen: hasMore && canContinue }]
  })
}

const finished = 'hierarchy.finishAssignment'

/** Leaves out the start of assignments whose end is in the list. */
function withoutStarts(entries: readonly ActivityEntry[]): ActivityEntry[] {
  const ended = new Set(entries.flatMap(({ action, object }) => (action === finished && object ? [object.id] : [])))
  return entries.filter(({ action, object }) => !isStart(action) || object === undefined || !ended.has(object.id))
}

/** The longest time between the change of a scan and its start that are one entry. */
const startedWithinMs = 1_000

/** Combines the change of a scan with its start, if the same author started the scan within one second. The newest entry is first. */
function withStartedScans(entries: readonly ActivityEntry[]): ActivityEntry[] {
  const changes = new Set<ActivityEntry>()
  const combined = entries.map((entry, index) => {
    if (!isScanAction(entry, 'runDiscovery')) return entry
    const change = entries.slice(index + 1, index + 1 + nearEntries).find((each) => isStartedBy(each, entry))
    if (change === undefined) return entry
    changes.add(change)
    const { changed = [] } = change.detail ?? {}
    return { ...entry, detail: { ...entry.detail, changed } }
  })
  return combined.filter((entry) => !changes.has(entry))
}

/** The number of older entries among which the change of a started scan is searched. */
const nearEntries = 10

function isScanAction({ action, outcome }: ActivityEntry, operation: string): boolean {
  return action === `discovery.${operation}` && outcome === 'done'
}

function isStartedBy(change: ActivityEntry, start: ActivityEntry): boolean {
  return (
    isScanAction(change, 'updateDiscovery') &&
    change.object?.id === start.object?.id &&
    change.principalName === start.principalName &&
    Date.parse(start.time) - Date.parse(change.time) <= startedWithinMs
  )
}

/** The longest time between two links of a gateway that are one entry. All links of a gateway expire and recover together. */
const togetherWithinMs = 60_000

/** Combines the links of one gateway that stop to respond, or that respond again, at the same time. */
function withLinksOfGateway(entries: readonly ActivityEntry[]): ActivityEntry[] {
  const combined: ActivityEntry[] = []
  for (const entry of entries) {
    const index = combined.findLastIndex((newer) => areTogether(newer, entry))
    const newer = combined[index]
    if (newer === undefined) combined.push(entry)
    else combined[index] = { ...newer, detail: { links: [...linksOf(newer), ...linksOf(entry)] } }
  }
  return combined
}

function areTogether(newer: ActivityEntry, older: ActivityEntry): boolean {
  return (
    isLinkOutage(newer.action) &&
    older.action === newer.action &&
    older.object?.id === newer.object?.id &&
    Date.parse(newer.time) - Date.parse(older.time) <= togetherWithinMs
  )
}

/**
 * Returns the begin of each outage that has ended, by its end. The begin is the next older entry of the gateway or of its links. If
 * another entry is between them, or if other links have ended, both stay separate rows.
 */
function beginsOfEnded(entries: readonly ActivityEntry[]): Map<ActivityEntry, ActivityEntry> {
  const begins = new Map<ActivityEntry, ActivityEntry>()
  for (const [index, end] of entries.entries()) {
    if (outageOf(end) !== 'end') continue
    const older = entries.slice(index + 1).find((each) => isAboutSame(end, each))
    if (older !== undefined && outageOf(older) === 'begin' && linkNames(older) === linkNames(end))
      begins.set(end, older)
  }
  return begins
}

/** Returns whether an older entry has the same object. The outages of a gateway and of its links are separate. */
function isAboutSame(end: ActivityEntry, older: ActivityEntry): boolean {
  if (older.object === undefined || older.object.id !== end.object?.id) return false
  return outageOf(older) === undefined || isLinkOutage(older.action) === isLinkOutage(end.action)
}

function linkNames(entry: ActivityEntry): string {
  return [...new Set(linksOf(entry).map(({ link }) => link))].toSorted().join(' ')
}

/** Returns whether an entry is the begin or the end of an outage of a gateway or of its links. */
export function outageOf({ action, object, changes, group }: ActivityEntry): 'begin' | 'end' | undefined {
  if (isLinkOutage(action)) return action === 'discovery.expireLink' ? 'begin' : 'end'
  if (object?.type !== 'Gateway' || group !== undefined) return undefined
  const state = changes.find(({ field }) => field === 'reachability_state')
  if (state?.after === 'failed') return 'begin'
  return state?.before === 'failed' && state.after === 'reached' ? 'end' : undefined
}

/** Returns whether an action is the begin or the end of an outage of the links of a gateway. */
export function isLinkOutage(action: string): boolean {
  return action === 'discovery.expireLink' || action === 'discovery.recoverLink'
}

/** Returns the time since which a gateway or its links do not respond, or did not respond before the end of the outage. */
export function outageSince(entry: ActivityEntry): string | undefined {
  if (outageOf(entry) === undefined) return undefined
  if (!isLinkOutage(entry.action)) return entry.changes.flatMap(({ since }) => since ?? [])[0]
  return linksOf(entry)
    .flatMap(({ silentSince }) => silentSince ?? [])
    .toSorted()[0]
}

/** Returns the time at which the outage of a row began. It is earlier than its entry, because the platform notices an outage later. */
export function outageStart({ entry, begin }: Pick<EntryRow, 'entry' | 'begin'>): string | undefined {
  return outageSince(entry) ?? (begin && (outageSince(begin) ?? begin.time))
}

type GatewayLink = { link: string; silentSince?: string }

/** Returns the links of a gateway that are named by the begin or the end of an outage. */
export function linksOf({ detail }: Pick<ActivityEntry, 'detail'>): GatewayLink[] {
  const links: unknown = detail?.links
  return Array.isArray(links) ? links.filter((one) => typeof one?.link === 'string') : []
}

function isStart(action: string): boolean {
  return action === 'hierarchy.assignAssets' || action === 'hierarchy.undoAssignment'
}

function isSignIn({ action, outcome }: ActivityEntry): boolean {
  return outcome === 'done' && /^identity\.(signIn|externalSignIn|providerSignIn)$/.test(action)
}

/** Returns whether an entry is the start of a task, for example of a scan. Its sentence names the task. */
function isRun({ action }: ActivityEntry): boolean {
  return /\.run[A-Z]/.test(action)
}

/** Returns whether an entry is a decision in the inbox or its undo. The changes of its assets are separate entries. */
export function isDecision({ action }: Pick<ActivityEntry, 'action'>): boolean {
  return action === 'inbox.createDecision' || action === 'inbox.undoDecision'
}

/** Returns whether an entry is an assignment of assets to one node that has ended. */
export function isAssignment({ action, outcome, detail }: ActivityEntry): boolean {
  const isAssigned = action === 'hierarchy.assignAssets' || action === finished
  return isAssigned && outcome === 'done' && typeof detail?.nodeId === 'string'
}

/** Returns the sum of the groups of several requests. */
function combinedGroup(run: readonly ActivityEntry[]): Pick<ActivityEntry, 'group'> {
  const groups = run.flatMap(({ group }) => group ?? [])
  const [first] = groups
  if (first === undefined) return {}
  const sum = (count: (group: NonNullable<ActivityEntry['group']>) => number) =>
    groups.reduce((total, group) => total + count(group), 0)
  return {
    group: {
      ...first,
      count: sum(({ count }) => count),
      created: sum(({ created }) => created),
      updated: sum(({ updated }) => updated),
      deleted: sum(({ deleted }) => deleted),
    },
  }
}

function isSimilar(one: ActivityEntry, other: ActivityEntry): boolean {
  const isCombined = ({ group, cause }: ActivityEntry) => group === undefined || cause?.kind === 'request'
  return isCombined(one) && isCombined(other) && keyOf(one) === keyOf(other)
}

function keyOf(entry: ActivityEntry): string {
  const { principal, principalName, action, outcome, changes, group, time } = entry
  const fields = changes.map(({ field }) => field)
  const operation = isAssignment(entry)
    ? 'assignment'
    : isDecision(entry)
      ? `${action}/${entry.detail?.action}`
      : action
  const object = isRun(entry) ? [entry.object?.id] : []
  const what = group === undefined ? [operation, ...fields, ...object] : ['request']
  return [principal, principalName, outcome, ...what, dayOf(time)].join(' ')
}

/** Returns the local date of a time as text, which sorts and compares. */
export function dayOf(time: string): string {
  const at = new Date(time)
  const part = (value: number) => String(value).padStart(2, '0')
  return `${at.getFullYear()}-${part(at.getMonth() + 1)}-${part(at.getDate())}`
}

/** Returns the rows of each day, newest day first. */
export function daysOf(rows: readonly EntryRow[]): { day: string; rows: EntryRow[] }[] {
  const days = Map.groupBy(rows, ({ entry }) => dayOf(entry.time))
  return [...days].map(([day, ofDay]) => ({ day, rows: ofDay }))
}
