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
 * link reports is replaced as in any other write. A report that is more than `reportDays` days old does not count.
 */

/** A value of a report, and the time since which the link has reported this value. */
type ReportedValue = { value: unknown; since: string }

/** The last report of a link. `seen` is the date of the report, without the time, so that it changes once a day at most. */
type FieldReport = { source: string; seen: string; values: Readonly<Record<string, ReportedValue>> }

/** The reports about one asset, by source and reporter. Values that a person wrote are a report too. */
export type FieldSources = Readonly<Record<string, FieldReport>>

/** What one link reports about a device. `reporter` is the id of the gateway. */
export type Finding = { source: string; reporter: string; asset: PlainObject; time: string }

/** A reported value that was not used, and the source of the value that was used instead. */
export type OverruledField = { field: string; source: string }

type MergedFinding = {
  /** The fields to write. Null clears a field. */
  fields: Document
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
const millisecondsPerDay = 24 * 60 * 60 * 1000

/** Merges a finding into the stored document. `sources` contains the reports before the finding. */
export function mergeFinding(
  stored: { document: PlainObject; sources: FieldSources },
  finding: Finding,
): MergedFinding {
  const { asset, source, time } = finding
  const key = `${source} ${finding.reporter}`
  const { [key]: previous, ...others } = stored.sources
  const current = withoutExpired(others, time)
  const names = Object.keys(asset)
  const sent = new Map(
    names.map((name) => [name, unitsOf(name, matchedValue(name, asset[name], { stored, previous, current }))]),
  )
  const values: Record<string, ReportedValue> = {}
  for (const [unit, value] of Object.entries(previous?.values ?? {})) if (!sent.has(fieldOf(unit))) values[unit] = value
  for (const units of sent.values()) {
    for (const [unit, value] of units) values[unit] = reportedValue(previous?.values[unit], value, time)
  }
  const sources = { ...current, [key]: { source, seen: time.slice(0, 10), values } }
  const fields: Document = {}
  const overruled: OverruledField[] = []
  for (const [name, units] of sent) {
    const before = unitsOf(name, stored.document[name])
    const after = chosenUnits(name, {
      before,
      sent: asset[name],
      reports: { before: stored.sources, after: sources },
      key,
    })
    setMember(
      fields,
      name,
      isDeepStrictEqual(after, before) ? stored.document[name] : fieldValue(name, after, asset[name]),
    )
    for (const [unit, value] of units) {
      const winner = winnerOf(sources, unit)
      if (winner !== undefined && winner.key !== key && !isDeepStrictEqual(after.get(unit), value))
        overruled.push({ field: shownField(unit), source: winner.source })
    }
  }
  return { fields, sources, overruled: withoutRepetitions(overruled) }
}

/** Returns each pair of field and source once. Several entries of a list can be overruled by the same source. */
function withoutRepetitions(overruled: readonly OverruledField[]): OverruledField[] {
  return [...new Map(overruled.map((one) => [`${one.field} ${one.source}`, one])).values()]
}

function reportedValue(previous: ReportedValue | undefined, value: unknown, time: string): ReportedValue {
  return previous !== undefined && isDeepStrictEqual(previous.value, value) ? previous : { value, since: time }
}

function withoutExpired(sources: FieldSources, time: string): FieldSources {
  const oldest = Date.parse(time) - reportDays * millisecondsPerDay
  const isCurrent = ({ source, seen }: FieldReport) => source === manualSource || Date.parse(seen) >= oldest
  return Object.fromEntries(Object.entries(sources).filter(([, report]) => isCurrent(report)))
}

type KnownEntries = { stored: { document: PlainObject }; previous: FieldReport | undefined; current: FieldSources }

/**
 * Returns the reported value of a field. Entries of lists have the ids that the same link got for them before, or else the
 * ids of equal entries of other links.
 */
function matchedValue(name: string, value: unknown, { stored, previous, current }: KnownEntries): unknown {
  if (entryKeys(name, value) === undefined) return value
  const own = Object.entries(previous?.values ?? {}).flatMap(([unit, { value: entry }]) =>
    fieldOf(unit) === name ? [entry] : [],
  )
  return matchEntries(name, stored.document[name], matchEntries(name, own, value), reservedIds(name, current))
}

/** Returns the ids of the connection points that other links reported. A new connection point must not get one of these. */
function reservedIds(name: string, sources: FieldSources): ReadonlySet<string> | undefined {
  if (name !== 'connection_points') return undefined
  const reported = Object.values(sources).flatMap(({ values }) => Object.entries(values))
  const entries = reported.flatMap(([unit, { value }]) => (fieldOf(unit) === name && isObject(value) ? [value] : []))
  return new Set(entries.flatMap(({ id }) => textOf(id) ?? []))
}

type Choice = {
  before: ReadonlyMap<string, unknown>
  sent: unknown
  reports: { before: FieldSources; after: FieldSources }
  /** The key of the report that the finding replaced. */
  key: string
}

/** Returns the values of a field after a finding that contains this field. */
function chosenUnits(name: string, { before, sent, reports, key }: Choice): Map<string, unknown> {
  const reported = Object.values(reports.after).flatMap(({ values }) => Object.keys(values))
  const units = new Set([...before.keys(), ...reported.filter((unit) => fieldOf(unit) === name)])
  const after = new Map<string, unknown>()
  for (const unit of units) {
    const [old, winner] = [winnerOf(reports.before, unit), winnerOf(reports.after, unit)]
    const isUnchanged = winner !== undefined && winner.key !== key && winner.key === old?.key && before.has(unit)
    // A client may have changed a member of the product information that no link reports.
    const isUnreported = winner === undefined && old === undefined && isObject(sent)
    if (isUnchanged || isUnreported) after.set(unit, before.get(unit))
    else if (winner !== undefined) after.set(unit, winner.value)
  }
  return after
}

type Winner = ReportedValue & { source: string; key: string }

function winnerOf(sources: FieldSources, unit: string): Winner | undefined {
  return candidatesFor(sources, unit)[0]
}

/** Returns the reported values of a unit. The first one wins. */
function candidatesFor(sources: FieldSources, unit: string): Winner[] {
  const candidates = Object.entries(sources).flatMap(([key, { source, values }]) => {
    const reported = Object.hasOwn(values, unit) ? values[unit] : undefined
    return reported === undefined ? [] : [{ ...reported, source, key }]
  })
  return candidates.sort((one, other) => compareSources(other, one) || (one.key < other.key ? -1 : 1))
}

/**
 * Divides the value of a field into units, which have their own sources. The key of a unit is a JSON pointer. In lists, it
 * contains the key of the entry instead of its index. Null and empty objects have no units.
 */
function unitsOf(name: string, value: unknown): Map<string, unknown> {
  const pointer = `/${escapedPointer(name)}`
  const keys = entryKeys(name, value)
  if (keys !== undefined)
    return new Map((value as unknown[]).map((entry, index) => [`${pointer}/${keys[index]}`, entry]))
  return new Map(memberUnits(pointer, value))
}

function memberUnits(pointer: string, value: unknown): [string, unknown][] {
  if (value === null || value === undefined) return []
  if (isObject(value) && Object.keys(value).length === 0) return []
  if (!dividedObjects.has(pointer) || !isObject(value)) return [[pointer, value]]
  return Object.entries(value).flatMap(([name, member]) => memberUnits(`${pointer}/${escapedPointer(name)}`, member))
}

/** Returns the name of the field that contains a unit. */
function fieldOf(unit: string): string {
  const end = unit.indexOf('/', 1)
  return unescaped(unit.slice(1, end < 0 ? undefined : end))
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Returns the pointer of a unit for people: the pointer of the list if the unit is an entry of a list. */
function shownField(unit: string): string {
  const field = fieldOf(unit)
  return entryKeys(field, []) === undefined ? unit : `/${escapedPointer(field)}`
}

/** Returns the value of a field that has these units. `sent` is used if there are none. */
function fieldValue(name: string, units: ReadonlyMap<string, unknown>, sent: unknown): unknown {
  if (entryKeys(name, []) !== undefined) return units.size === 0 && !Array.isArray(sent) ? sent : [...units.values()]
  if (units.size === 0) return isObject(sent) ? sent : null
  const root: Document = {}
  for (const [unit, value] of units) {
    const path = unit.slice(1).split('/').map(unescaped)
    const last = path.pop() ?? ''
    let object = root
    for (const step of path) {
      if (!isObject(object[step])) object[step] = {}
      object = object[step] as Document
    }
    setMember(object, last, value)
  }
  return root[name]
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
  const values: Record<string, ReportedValue> = { ...edits?.values }
  for (const name of editableFields.filter((field) => !isDeepStrictEqual(before[field], after[field]))) {
    const value = after[name] ?? null
    if (value === null) delete values[`/${name}`]
    else values[`/${name}`] = { value, since: time }
  }
  if (Object.keys(values).length === 0) return others
  return { ...others, [manualSource]: { source: manualSource, seen: time.slice(0, 10), values } }
}

/** Returns whether a write changes a field that a person decides. */
export function isEdit(before: PlainObject, after: PlainObject): boolean {
  return editableFields.some((name) => before[name] !== after[name])
}

/**
 * Returns the reports about two assets that are merged into one. `first` is the preferred asset. An edit counts only if
 * the merged document contains its value.
 */
export function mergedSources(first: FieldSources, second: FieldSources, document: PlainObject): FieldSources {
  const merged: Record<string, FieldReport> = { ...second, ...first }
  for (const [key, report] of Object.entries(first)) {
    const other = second[key]
    if (other === undefined) continue
    const seen = [report.seen, other.seen].toSorted().at(-1) ?? report.seen
    merged[key] = { ...report, seen, values: { ...other.values, ...report.values } }
  }
  const edits = Object.entries(merged[manualSource]?.values ?? {}).filter(([unit, { value }]) =>
    isDeepStrictEqual(document[fieldOf(unit)], value),
  )
  const { [manualSource]: manual, ...others } = merged
  if (manual === undefined || edits.length === 0) return others
  return { ...others, [manualSource]: { ...manual, values: Object.fromEntries(edits) } }
}

type ShownSource = { source: string; since: string }

export type ShownField = ShownSource & {
  field: string
  /** The values of other sources that are not used, because this source wins. */
  others: (ShownSource & { value: unknown })[]
}

/**
 * Returns the source of each value of the document, and the values that other sources reported. A value that a client
 * changed after the last scan has no source.
 */
export function shownFields(document: PlainObject, sources: FieldSources): ShownField[] {
  const shown: ShownField[] = []
  for (const name of Object.keys(document)) {
    const isList = entryKeys(name, document[name]) !== undefined
    for (const [index, [unit, value]] of [...unitsOf(name, document[name])].entries()) {
      const [winner, ...others] = candidatesFor(sources, unit)
      if (winner === undefined || !isDeepStrictEqual(winner.value, value)) continue
      const different = others.filter((other) => !isDeepStrictEqual(other.value, value))
      shown.push({
        field: isList ? `/${escapedPointer(name)}/${index}` : unit,
        source: winner.source,
        since: winner.since,
        others: different.map(({ source, since, value: refused }) => ({ source, since, value: refused })),
      })
    }
  }
  return shown
}
