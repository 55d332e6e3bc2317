import { isDeepStrictEqual } from 'node:util'
import { compareSources, manualSource } from '@millwright/api/link-rank.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { type Document, escapedPointer, isObject, type PlainObject, setMember, textOf } from './document.ts'
import { entryKeys, matchEntries } from './list-entries.ts'

/**
 * Merges the findings of several links into one asset, field by field.
 *
 * The inventory stores the last report of each link of each gateway with the asset. A new finding replaces the report of its
 * own link, and only in the fields that it contains. Then the rule of `compareSources` chooses the winner of each value.
 * Values are compared separately for each field, for each member of the product information, and for each entry of a list.
 * So a list contains the entries of all links, and an entry is removed when no link reports it. A value that no
 * link reports is replaced as in any other write. A report that is more than `reportDays` days old does not count, and only
 * the latest `mostReports` reports are stored.
 */

/** A value of a report. `since` is the time of its last change. Without it, the value has not changed since the first report. */
type ReportedValue = { value: unknown; since?: string }

/** The units of a field and their values: see `unitsOf`. */
type FieldValues = Readonly<Record<string, ReportedValue>>

/**
 * The reports of a link. `since` is the time of the first one. `seen` is the date of the last one, without the time, so that
 * it changes once a day at most. `values` contains the values by field.
 */
type FieldReport = { source: string; since: string; seen: string; values: Readonly<Record<string, FieldValues>> }

/** The reports about one asset, by source and reporter. Values that a person wrote are a report too. */
export type FieldSources = Readonly<Record<string, FieldReport>>

/** Returns the id of the gateway in the key of a report. The key of the edits of people contains none. */
export function reporterOf(key: string): string {
  return key.slice(key.lastIndexOf(' ') + 1)
}

/** The source of a value or of an overruled value that the caller cannot read. */
const hiddenSource = 'hidden link'

/** What one link reports about a device. `reporter` is the id of the gateway. */
export type Finding = { source: string; reporter: string; asset: PlainObject; time: string }

/** A reported value that was not used, and the source of the value that was used instead. */
export type OverruledField = { field: string; source: string }

type MergedFinding = {
  /** The fields to write. Null clears a field. */
  fields: Document
  /** The reports with the finding. If the finding repeats the last report, this is the same object as before. */
  sources: FieldSources
  overruled: OverruledField[]
}

export function readSources(text: string | null): FieldSources {
  return text === null ? {} : (JSON.parse(text) as FieldSources)
}

export function printSources(sources: FieldSources): string {
  return jsonText(sources)
}

/** The fields that a person decides. An edit of these fields wins over every scan. */
const editableFields = ['name', 'description'] as const

/** Objects whose members are compared separately. */
const dividedObjects = new Set(['/product_instance_information', '/product_instance_information/manufacturer_product'])

const reportDays = 30
/** The maximum number of links whose reports about one asset are stored. The report with the oldest date is removed first. */
const mostReports = 16
const millisecondsPerDay = 24 * 60 * 60 * 1000

type StoredState = { document: PlainObject; sources: FieldSources }

/** Merges a finding into the stored document. `sources` contains the reports before the finding. */
export function mergeFinding(stored: StoredState, finding: Finding): MergedFinding {
  const { asset, time } = finding
  const source = linkSource(finding.source)
  const key = `${source} ${finding.reporter}`
  const { [key]: previous, ...others } = stored.sources
  const current = latestReports(withoutExpired(others, time))
  const report = { source, since: previous?.since ?? time, seen: time.slice(0, 10) }
  const values: Record<string, FieldValues> = { ...previous?.values }
  const sources = { ...current, [key]: { ...report, values } }
  const fields: Document = {}
  const overruled = new Map<string, OverruledField>()
  for (const name of Object.keys(asset)) {
    const own = previous?.values[name]
    const value = matchedValue(name, asset[name], { stored: stored.document[name], own, others: current })
    const sent = unitsOf(name, value)
    setMember(values, name, reportedValues(sent, { own, since: report.since, time }))
    const isShared = dividedObjects.has(`/${name}`) || hasOther(stored.sources, key, name)
    setMember(fields, name, isShared ? sharedValue(name, value, { stored, sources, key }) : value)
    if (isShared) for (const one of overruledUnits(name, { sent, sources, key })) overruled.set(one.field, one)
  }
  const isRepeated =
    previous !== undefined &&
    previous.seen === report.seen &&
    Object.keys(values).every((name) => values[name] === previous.values[name]) &&
    Object.keys(sources).length === Object.keys(stored.sources).length
  return { fields, sources: isRepeated ? stored.sources : sources, overruled: [...overruled.values()] }
}

function withoutExpired(sources: FieldSources, time: string): FieldSources {
  const oldest = Date.parse(time) - reportDays * millisecondsPerDay
  const isCurrent = (key: string, { seen }: FieldReport) => key === manualSource || Date.parse(seen) >= oldest
  return Object.fromEntries(Object.entries(sources).filter(([key, report]) => isCurrent(key, report)))
}

/** Returns the edits of people and the latest reports, with room for the report of one more link. */
function latestReports(sources: FieldSources): FieldSources {
  const { [manualSource]: edits, ...reports } = sources
  const entries = Object.entries(reports)
  if (entries.length < mostReports) return sources
  const latest = entries.toSorted(([, one], [, other]) => (one.seen < other.seen ? 1 : -1)).slice(0, mostReports - 1)
  return { ...(edits === undefined ? {} : { [manualSource]: edits }), ...Object.fromEntries(latest) }
}

/** Returns the source of a report of a link. The name of the source of edits is reserved, so a link gets another one. */
function linkSource(source: string): string {
  return source === manualSource ? `link ${manualSource}` : source
}

/** Returns whether another report contains the field. */
function hasOther(sources: FieldSources, key: string, name: string): boolean {
  return Object.keys(sources).some((other) => other !== key && sources[other]?.values[name] !== undefined)
}

type KnownEntries = { stored: unknown; own: FieldValues | undefined; others: FieldSources }

/**
 * Returns the reported value of a field. Entries of lists have the ids that the same link got for them before, or else the
 * ids of equal entries of other links.
 */
function matchedValue(name: string, value: unknown, { stored, own, others }: KnownEntries): unknown {
  if (!isListOfEntries(name)) return value
  const entries = own === undefined ? [] : Object.values(own).map((reported) => reported.value)
  return matchEntries(name, stored, matchEntries(name, entries, value), reservedIds(name, others))
}

/** Returns the ids of the connection points that other links reported. A new connection point must not get one of these. */
function reservedIds(name: string, sources: FieldSources): ReadonlySet<string> | undefined {
  if (name !== 'connection_points') return undefined
  const entries = Object.values(sources).flatMap(({ values }) => Object.values(values[name] ?? {}))
  return new Set(entries.flatMap(({ value }) => (isObject(value) ? (textOf(value.id) ?? []) : [])))
}

type OwnReport = { own: FieldValues | undefined; since: string; time: string }

/** Returns the reported values of a field. A value that the link repeats keeps its time. */
function reportedValues(units: ReadonlyMap<string, unknown>, { own = {}, since, time }: OwnReport): FieldValues {
  const values: Record<string, ReportedValue> = {}
  let isSame = Object.keys(own).length === units.size
  for (const [unit, value] of units) {
    const previous = Object.hasOwn(own, unit) ? own[unit] : undefined
    const isRepeated = previous !== undefined && isDeepStrictEqual(previous.value, value)
    isSame &&= isRepeated
    setMember(values, unit, isRepeated ? previous : { value, ...(time === since ? {} : { since: time }) })
  }
  return isSame ? own : values
}

type Choice = { stored: StoredState; sources: FieldSources; key: string }

/** Returns the value of a field that several sources can have. `sent` is the value of the finding. */
function sharedValue(name: string, sent: unknown, { stored, sources, key }: Choice): unknown {
  const before = unitsOf(name, stored.document[name])
  const units = new Set([...before.keys(), ...unitsIn(sources, name)])
  const after = new Map<string, unknown>()
  for (const unit of units) {
    const [old, winner] = [winnerOf(stored.sources, name, unit), winnerOf(sources, name, unit)]
    const isUnchanged = winner !== undefined && winner.key !== key && winner.key === old?.key && before.has(unit)
    // A client may have changed a member of the product information that no link reports.
    const isUnreported = winner === undefined && old === undefined && isObject(sent)
    if (isUnchanged || isUnreported) after.set(unit, before.get(unit))
    else if (winner !== undefined) after.set(unit, winner.value)
  }
  return isDeepStrictEqual(after, before) ? stored.document[name] : fieldValue(name, after, sent)
}

function unitsIn(sources: FieldSources, name: string): string[] {
  return Object.values(sources).flatMap(({ values }) => Object.keys(values[name] ?? {}))
}

type SentUnits = { sent: ReadonlyMap<string, unknown>; sources: FieldSources; key: string }

/** Returns the values of a finding that are not used. */
function overruledUnits(name: string, { sent, sources, key }: SentUnits): OverruledField[] {
  return [...sent].flatMap(([unit, value]) => {
    const winner = winnerOf(sources, name, unit)
    if (winner === undefined || winner.key === key || isDeepStrictEqual(winner.value, value)) return []
    return [{ field: isListOfEntries(name) ? pointerOf(name, '') : pointerOf(name, unit), source: winner.source }]
  })
}

type Candidate = { value: unknown; source: string; since: string; key: string }

function winnerOf(sources: FieldSources, name: string, unit: string): Candidate | undefined {
  let winner: Candidate | undefined
  for (const candidate of candidatesFor(sources, name, unit))
    if (winner === undefined || compareCandidates(candidate, winner) > 0) winner = candidate
  return winner
}

function* candidatesFor(sources: FieldSources, name: string, unit: string): Iterable<Candidate> {
  for (const key of Object.keys(sources)) {
    const report = sources[key]
    const values = report?.values[name]
    const reported = values !== undefined && Object.hasOwn(values, unit) ? values[unit] : undefined
    if (report !== undefined && reported !== undefined)
      yield { value: reported.value, source: sourceOf(key, report), since: reported.since ?? report.since, key }
  }
}

function sourceOf(key: string, { source }: FieldReport): string {
  return key === manualSource ? manualSource : linkSource(source)
}

/** Compares two candidates. Two gateways with the same link have the same source, so that their keys decide at last. */
function compareCandidates(one: Candidate, other: Candidate): number {
  return compareSources(one, other) || (one.key < other.key ? 1 : -1)
}

function isListOfEntries(name: string): boolean {
  return entryKeys(name, []) !== undefined
}

/**
 * Divides the value of a field into units, which have their own sources. The key of a unit is the key of an entry, or the path
 * of a member of the product information. The only unit of another field has an empty key. Null and empty objects have no
 * units.
 */
function unitsOf(name: string, value: unknown): Map<string, unknown> {
  const keys = entryKeys(name, value)
  if (keys !== undefined) return new Map((value as unknown[]).map((entry, index) => [keys[index] ?? '', entry]))
  return new Map(memberUnits(`/${name}`, value, ''))
}

function memberUnits(pointer: string, value: unknown, path: string): [string, unknown][] {
  if (value === null || value === undefined) return []
  if (isObject(value) && Object.keys(value).length === 0) return []
  if (!dividedObjects.has(pointer) || !isObject(value)) return [[path, value]]
  return Object.entries(value).flatMap(([member, inner]) => {
    const step = escapedPointer(member)
    return memberUnits(`${pointer}/${step}`, inner, path === '' ? step : `${path}/${step}`)
  })
}

/** Returns the JSON pointer of a unit that is not an entry of a list. */
function pointerOf(name: string, unit: string | number): string {
  return `/${escapedPointer(name)}${unit === '' ? '' : `/${unit}`}`
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Returns the value of a field that has these units. `sent` is used if there are none. */
function fieldValue(name: string, units: ReadonlyMap<string, unknown>, sent: unknown): unknown {
  if (isListOfEntries(name)) return units.size === 0 && !Array.isArray(sent) ? sent : [...units.values()]
  if (units.size === 0) return isObject(sent) ? sent : null
  if (units.has('')) return units.get('')
  const root: Document = {}
  for (const [unit, value] of units) {
    const path = unit.split('/').map(unescaped)
    const last = path.pop() ?? ''
    let object = root
    for (const step of path) {
      if (!isObject(object[step])) object[step] = {}
      object = object[step] as Document
    }
    setMember(object, last, value)
  }
  return root
}

/**
 * Returns the reports after a write by a person or an API client: an edited name or description wins over scans, and a
 * cleared one is written by scans again.
 */
export function withEdits(
  sources: FieldSources,
  { before, after, time }: { before: PlainObject; after: PlainObject; time: string },
): FieldSources {
  const { [manualSource]: edits, ...others } = sources
  const values: Record<string, FieldValues> = { ...edits?.values }
  for (const name of editableFields.filter((field) => !isDeepStrictEqual(before[field], after[field]))) {
    const value = after[name] ?? null
    if (value === null) delete values[name]
    else values[name] = { '': { value, since: time } }
  }
  if (Object.keys(values).length === 0) return others
  return { ...others, [manualSource]: { source: manualSource, since: time, seen: time.slice(0, 10), values } }
}

/** Returns whether a write changes a field that a person decides. */
export function isEdit(before: PlainObject, after: PlainObject): boolean {
  return editableFields.some((name) => before[name] !== after[name])
}

/** Returns the fields of a scan that does not replace edits. */
export function withoutEdits(asset: PlainObject, sources: FieldSources): PlainObject {
  const edited = Object.keys(sources[manualSource]?.values ?? {})
  return Object.fromEntries(Object.entries(asset).filter(([name]) => !edited.includes(name)))
}

/**
 * Returns the reports about two assets that are merged into one. `first` is the preferred asset. An edit counts only if
 * the merged document contains its value.
 */
export function mergedSources(first: FieldSources, second: FieldSources, document: PlainObject): FieldSources {
  const merged: Record<string, FieldReport> = { ...second, ...first }
  for (const [key, report] of Object.entries(first)) {
    const other = second[key]
    if (other !== undefined) merged[key] = mergedReport(report, other)
  }
  const { [manualSource]: manual, ...others } = merged
  const edits = Object.entries(manual?.values ?? {}).filter(([name, values]) =>
    isDeepStrictEqual(document[name], values['']?.value),
  )
  if (manual === undefined || edits.length === 0) return others
  return { ...others, [manualSource]: { ...manual, values: Object.fromEntries(edits) } }
}

function mergedReport(first: FieldReport, second: FieldReport): FieldReport {
  const seen = [first.seen, second.seen].toSorted().at(-1) ?? first.seen
  return { ...first, seen, values: { ...datedValues(second), ...first.values } }
}

/** Returns the values of a report, each with the time of its last change. */
function datedValues({ since, values }: FieldReport): FieldReport['values'] {
  const dated = (field: FieldValues): FieldValues =>
    Object.fromEntries(Object.entries(field).map(([unit, value]) => [unit, { since, ...value }]))
  return Object.fromEntries(Object.entries(values).map(([name, field]) => [name, dated(field)]))
}

type ShownSource = { source: string; since: string }

type ShownField = ShownSource & {
  field: string
  /** The values of other sources that are not used, because this source wins. */
  others: (ShownSource & { value: unknown })[]
}

/**
 * Returns the source of each value of the document, and the values that other sources reported. A value that a client
 * changed after the last scan has no source. The reports in `hidden` are those that the caller cannot read: their unused
 * values are left out, and their names are replaced.
 */
export function shownFields(
  document: PlainObject,
  sources: FieldSources,
  hidden: ReadonlySet<string> = new Set(),
): ShownField[] {
  return Object.keys(document).flatMap((name) =>
    [...unitsOf(name, document[name])].flatMap(([unit, value], index) => {
      const [winner, ...others] = [...candidatesFor(sources, name, unit)].sort((a, b) => compareCandidates(b, a))
      if (winner === undefined || !isDeepStrictEqual(winner.value, value)) return []
      const different = others.filter((other) => !hidden.has(other.key) && !isDeepStrictEqual(other.value, value))
      return [
        {
          field: pointerOf(name, isListOfEntries(name) ? index : unit),
          source: hidden.has(winner.key) ? hiddenSource : winner.source,
          since: winner.since,
          others: different.map(({ source, since, value: refused }) => ({ source, since, value: refused })),
        },
      ]
    }),
  )
}

/** Returns the overruled fields of a change. The names of sources that have only hidden reports are replaced. */
export function shownOverruled(
  overruled: readonly OverruledField[],
  sources: FieldSources,
  hidden: ReadonlySet<string>,
): OverruledField[] {
  const keysOf = (source: string) => Object.keys(sources).filter((key) => sources[key]?.source === source)
  return overruled.map((one) => {
    const keys = keysOf(one.source)
    return keys.length > 0 && keys.every((key) => hidden.has(key)) ? { ...one, source: hiddenSource } : one
  })
}
