import type { ActivityEntry } from '@millwright/api/activity.ts'
import type { FieldChange } from '@millwright/api/inventory/changes.ts'
import { stateName } from '../assets/model/value-names.ts'
import { linkTitle } from '../discovery/built-in-links.ts'
import { assignedBy, auditSentence, entityPart, outageSentence } from './audit-sentence.ts'
import { authorPart } from './author-name.ts'
import { type EntryRow, isAssignment, isDecision, isLinkOutage } from './entry-rows.ts'
import { fieldName } from './field-names.ts'
import type { ActivityText } from './messages.ts'
import { fill, type SentenceContext, type SentencePart } from './sentence-part.ts'

/** Returns the sentence of an entry. */
export function sentenceOf(entry: ActivityEntry, context: SentenceContext): SentencePart[] {
  if (entry.action.includes('.')) return auditSentence(entry, context)
  return entry.group === undefined ? changeSentence(entry, context) : groupSentence(entry, context)
}

/** The entries of a row, and if they are an outage that has ended, the time at which it began. */
type SentenceRow = Pick<EntryRow, 'entry' | 'others'> & { start?: string | undefined }

/** Returns the sentence of a row: of its entry, of its similar entries, or of an outage that has ended. */
export function rowSentence({ entry, others, start }: SentenceRow, context: SentenceContext): SentencePart[] {
  if (others.length > 0) return combinedSentence([entry, ...others], context)
  return start === undefined ? sentenceOf(entry, context) : endedOutageSentence(entry, start, context)
}

/** Returns the sentence of an outage that has ended, for example `Gateway 1 was unreachable for 9 min`. The entry is its end. */
function endedOutageSentence(end: ActivityEntry, start: string, context: SentenceContext): SentencePart[] {
  const length = context.duration(Date.parse(end.time) - Date.parse(start))
  // A duration is in one line.
  const duration = { text: length.replaceAll(' ', '\u00a0'), role: 'value' } as const
  if (isLinkOutage(end.action)) return outageSentence(end, context, duration) ?? sentenceOf(end, context)
  return fill(context.text.wasLost, { ...partsOf(end, context), duration })
}

function partsOf(entry: ActivityEntry, { text }: SentenceContext) {
  const { object } = entry
  return {
    who: authorPart(entry, text),
    object: {
      text: object?.name ?? text.unnamed,
      role: 'object',
      ...(object === undefined ? {} : { subject: `${object.kind}/${object.id}` }),
    } as const,
  }
}

/** The sentences for changes of a state, by field and new value. */
const stateTemplates = {
  'management_state regarded': 'onboarded',
  'management_state ignored': 'ignored',
  'management_state unknown': 'returned',
  'reachability_state reached': 'reached',
  'reachability_state failed': 'lost',
} as const

function changeSentence(entry: ActivityEntry, context: SentenceContext): SentencePart[] {
  const { text, language } = context
  const { action, changes, source } = entry
  const parts = partsOf(entry, context)
  if (action === 'created') return fill(source?.type === 'manual' ? text.added : text.found, parts)
  if (action === 'deleted') return fill(text.deleted, parts)
  const [change, ...others] = changes
  if (change === undefined) return fill(text.touched, parts)
  if (others.length > 0) {
    const count: SentencePart = { text: context.number(changes.length) }
    return [...fill(text.changedSeveral, { ...parts, count }), ...listed(changes, context)]
  }
  const template = stateTemplates[`${change.field} ${change.after}` as keyof typeof stateTemplates]
  if (template !== undefined) return fill(text[template], parts)
  const values = { ...parts, ...valuesOf(change, context) }
  if (change.field === 'name' && change.before !== undefined) return fill(text.renamed, values)
  if (change.field === 'access_group') return fill(text.moved, values)
  return fill(templateOf(change, text), {
    ...unknownVersion(change, context),
    ...values,
    field: { text: fieldName(change.field, language) },
  })
}

/** Returns the missing old value of a firmware version. */
function unknownVersion({ field }: FieldChange, { text }: SentenceContext): { before?: SentencePart } {
  return field === 'firmware' ? { before: { text: text.unknownVersion, role: 'old' } } : {}
}

function templateOf({ field, before, after }: FieldChange, text: ActivityText): string {
  if (before !== undefined && after !== undefined) return text.changed
  if (after !== undefined) return field === 'firmware' ? text.changed : text.set
  return before === undefined ? text.changedWithout : text.cleared
}

/** The number of fields that a sentence lists. */
const listedFields = 3

function listed(changes: readonly FieldChange[], context: SentenceContext): SentencePart[] {
  const { text, language } = context
  const shown = changes.slice(0, listedFields).flatMap((change, index): SentencePart[] => {
    const { before, after } = valuesOf(change, context)
    const arrow: SentencePart[] =
      before === undefined && after === undefined
        ? []
        : [{ text: ' ' }, before ?? { text: '–' }, { text: ' → ' }, after ?? { text: '–' }]
    return [{ text: `${index === 0 ? '' : ', '}${fieldName(change.field, language, { isPlain: true })}` }, ...arrow]
  })
  const rest = changes.length - listedFields
  return rest > 0 ? [...shown, { text: ` ${text.andMore(context.number(rest), rest)}` }] : shown
}

/** Returns the values of a change with the names that people know. */
export function valuesOf(
  { field, before, after }: FieldChange,
  { language }: Pick<SentenceContext, 'language'>,
): { before?: SentencePart; after?: SentencePart } {
  const shown = (value: string) => (field.endsWith('_state') ? stateName(field, value, language) : value)
  return {
    ...(before === undefined ? {} : { before: { text: shown(before), role: 'old' } }),
    ...(after === undefined ? {} : { after: { text: shown(after), role: 'value' } }),
  }
}

const groupTemplates = {
  scan: 'groupScan',
  import: 'groupImport',
  campaign: 'groupCampaign',
  rule: 'groupRule',
  check: 'groupCheck',
  merge: 'groupMerge',
  request: 'groupRequest',
} as const

function groupSentence(entry: ActivityEntry, context: SentenceContext): SentencePart[] {
  const { text } = context
  const { cause, source } = entry
  const { who } = partsOf(entry, context)
  if (cause === undefined || cause.kind === 'bulk_edit') return bulkSentence(entry, context)
  const reachability = cause.kind === 'check' ? reachabilityTemplate(entry) : undefined
  if (reachability !== undefined) return fill(text[reachability], { who, count: countPart(entry, context) })
  if (cause.kind === 'request' && entry.group?.updated === entry.group?.count)
    return fill(text.requestChanged, { who, count: countPart(entry, context) })
  const counts: SentencePart = { text: countsOf(entry, context) }
  const name: SentencePart = { text: cause.name ?? '', role: 'value', ...subjectOf(cause) }
  const link: SentencePart = { text: source?.value === undefined ? '' : linkTitle(source.value) }
  const template = cause.kind === 'scan' && link.text === '' ? text.groupScanOnly : text[groupTemplates[cause.kind]]
  return fill(template, { who, counts, name, link })
}

/** Returns the sentence of a check that found the same reachability for all its assets. */
function reachabilityTemplate({ group }: ActivityEntry): 'groupLost' | 'groupReached' | undefined {
  const [change, ...others] = group?.fields ?? []
  if (change?.field !== 'reachability_state' || others.length > 0) return undefined
  return { failed: 'groupLost', reached: 'groupReached' }[change.after ?? ''] as
    | 'groupLost'
    | 'groupReached'
    | undefined
}

function countPart({ group }: ActivityEntry, { text, number }: SentenceContext): SentencePart {
  return { text: text.assetCount(number(group?.count ?? 0), group?.count ?? 0), role: 'value' }
}

function subjectOf({ kind, id }: NonNullable<ActivityEntry['cause']>): { subject?: string } {
  return kind === 'campaign' ? { subject: `update-campaign/${id}` } : {}
}

/** Returns the numbers of a group, such as `12 new, 3 changed`. */
function countsOf({ group }: ActivityEntry, { text, number }: SentenceContext): string {
  if (group === undefined) return ''
  const { created, updated, deleted } = group
  const shown = [
    created > 0 && text.newCount(number(created)),
    updated > 0 && text.changedCount(number(updated)),
    deleted > 0 && text.deletedCount(number(deleted)),
  ].filter((part) => part !== false)
  return shown.join(', ')
}

const bulkStates = {
  'management_state regarded': 'bulkOnboarded',
  'management_state ignored': 'bulkIgnored',
  'management_state unknown': 'bulkReturned',
} as const

function bulkSentence(entry: ActivityEntry, context: SentenceContext): SentencePart[] {
  const { text, language } = context
  const { group } = entry
  const { who } = partsOf(entry, context)
  const count = countPart(entry, context)
  if (group !== undefined && group.deleted === group.count) return fill(text.bulkDeleted, { who, count })
  const [change, ...others] = group?.fields ?? []
  if (change === undefined || others.length > 0) return fill(text.bulkChanged, { who, count })
  const template = bulkStates[`${change.field} ${change.after}` as keyof typeof bulkStates]
  if (template !== undefined) return fill(text[template], { who, count })
  const field: SentencePart = { text: fieldName(change.field, language) }
  const { after } = valuesOf(change, context)
  return fill(after === undefined ? text.bulkField : text.bulkSet, { who, count, field, after })
}

/** The number of names in the second line of a row. */
const maxNames = 3

/** Returns the sentence of several similar entries in succession. */
export function combinedSentence(entries: readonly ActivityEntry[], context: SentenceContext): SentencePart[] {
  const [entry] = entries
  if (entry === undefined) return []
  if (isAssignment(entry)) return assignmentsSentence(entries, context)
  if (isDecision(entry))
    return sentenceOf({ ...entry, detail: { ...entry.detail, assets: decidedIn(entries) } }, context)
  if (areVersionsOfAssets(entries)) return versionsSentence(entries, context)
  const total = totalChange(entries)
  if (total !== undefined) return sentenceOf({ ...entry, changes: [total] }, context)
  // The sentence of several relations does not contain the names of the first one.
  const { detail: _detail, ...plain } = entry
  return sentenceOf(entry.action === 'inventory.createRelation' ? plain : entry, context)
}

/** The fields whose values are versions. */
const versionFields = new Set(['firmware', 'software_components'])

/** Returns whether similar entries changed only a version, each of another asset. */
function areVersionsOfAssets(entries: readonly ActivityEntry[]): boolean {
  const isVersion = entries.every(({ changes, group }) => {
    const [change, ...others] = changes
    return group === undefined && versionFields.has(change?.field ?? '') && others.length === 0
  })
  return isVersion && assetsOf(entries).length > 1
}

/** Returns whether the sentence of several similar entries contains their number. */
export function statesNumber(entries: readonly ActivityEntry[]): boolean {
  return entries.some(isAssignment) || areVersionsOfAssets(entries)
}

/** Returns the newest entry of each asset. */
function assetsOf(entries: readonly ActivityEntry[]): ActivityEntry[] {
  return [...Map.groupBy(entries, ({ object }) => object?.id).values()].flatMap(([newest]) => newest ?? [])
}

function versionsSentence(entries: readonly ActivityEntry[], context: SentenceContext): SentencePart[] {
  const { text, language, number } = context
  const [entry] = entries as [ActivityEntry]
  const assets = assetsOf(entries).length
  return fill(text.bulkField, {
    who: partsOf(entry, context).who,
    field: { text: fieldName(entry.changes[0]?.field ?? '', language) },
    count: { text: text.assetCount(number(assets), assets), role: 'value' },
  })
}

/** Returns the change of one field of one asset from its oldest to its newest value. The newest entry is first. */
function totalChange(entries: readonly ActivityEntry[]): FieldChange | undefined {
  const [newest, oldest] = [entries[0], entries.at(-1)]
  const [change, ...others] = newest?.changes ?? []
  const before = oldest?.changes[0]?.before
  if (change === undefined || others.length > 0 || assetsOf(entries).length > 1) return undefined
  if (change.after === undefined || before === change.after) return undefined
  return { field: change.field, after: change.after, ...(before !== undefined && { before }) }
}

/** Returns the second line of new versions: the first assets, each with its old and new version. */
function versionsDetail(entries: readonly ActivityEntry[], context: SentenceContext): SentencePart[] {
  const assets = assetsOf(entries)
  const listedVersions = assets.slice(0, maxNames).flatMap((entry, index): SentencePart[] => {
    const change = totalChange(entries.filter(({ object }) => object?.id === entry.object?.id))
    const values = change === undefined ? {} : { ...unknownVersion(change, context), ...valuesOf(change, context) }
    const arrow = values.after === undefined ? [] : [{ text: ' → ' }, values.after]
    const before = values.before === undefined ? [] : [{ text: ' ' }, values.before]
    return [{ text: index === 0 ? '' : ', ' }, partsOf(entry, context).object, ...before, ...arrow]
  })
  return [...listedVersions, ...furtherParts(assets.length - maxNames, context)]
}

/** Returns the number of assets about which the user decided in several decisions of the same kind. */
function decidedIn(entries: readonly ActivityEntry[]): number {
  return entries.reduce((sum, { detail }) => sum + Number(detail?.assets ?? 0), 0)
}

/** Returns the sentence of several assignments: the sum of their assets and the number of their nodes. */
function assignmentsSentence(entries: readonly ActivityEntry[], context: SentenceContext): SentencePart[] {
  const { text, number } = context
  const total = entries.reduce((sum, entry) => sum + assignedBy(entry), 0)
  const nodes = new Set(entries.map(({ detail }) => detail?.nodeId)).size
  const { who } = partsOf(entries[0] as ActivityEntry, context)
  return fill(text.assignedSeveral, {
    who,
    count: { text: text.assetCount(number(total), total), role: 'value' },
    nodes: { text: text.nodeCount(number(nodes), nodes) },
  })
}

/** Returns the second line of similar audit entries: the first names of their objects, as links. */
export function combinedDetail(entries: readonly ActivityEntry[], context: SentenceContext): SentencePart[] {
  if (areVersionsOfAssets(entries)) return versionsDetail(entries, context)
  const names = entries.flatMap(({ object, detail = {}, names = {} }): { key: string; parts: SentencePart[] }[] => {
    const ends = [detail.subject, detail.object].flatMap((entity) => entityPart(entity, names) ?? [])
    const [from, to] = ends
    if (from !== undefined && to !== undefined)
      return [{ key: `${from.text} ${to.text}`, parts: [from, { text: ' → ' }, to] }]
    // Several nodes can have the same name.
    const nodeId = String(detail.nodeId)
    const node = names[nodeId]
    if (node !== undefined) return [{ key: nodeId, parts: [{ text: node, role: 'object', subject: `node/${nodeId}` }] }]
    if (object?.name === undefined) return []
    return [
      { key: object.name, parts: [{ text: object.name, role: 'object', subject: `${object.kind}/${object.id}` }] },
    ]
  })
  const distinct = [...new Map(names.map((name) => [name.key, name])).values()]
  // One name is in the sentence already.
  if (distinct.length < 2) return []
  const shown = distinct.slice(0, maxNames)
  const listed = shown.flatMap(({ parts }, index) => (index === 0 ? parts : [{ text: ', ' }, ...parts]))
  return [...listed, ...furtherParts(distinct.length - shown.length, context)]
}

/** Returns the number of names that a line leaves out. */
function furtherParts(rest: number, { text, number }: SentenceContext): SentencePart[] {
  return rest > 0 ? [{ text: ' ' }, { text: text.andMore(number(rest), rest), role: 'more' }] : []
}

/** Returns the second line of a group: the first names, and the fields that changed most often. */
export function groupDetail({ group }: ActivityEntry, context: SentenceContext): SentencePart[] {
  const { text, language } = context
  if (group === undefined) return []
  const names = group.names.map((name) => name ?? text.unnamed)
  const more: SentencePart[] = group.isCapped
    ? [{ text: ' ' }, { text: text.andManyMore, role: 'more' }]
    : furtherParts(group.count - names.length, context)
  const fields = group.fields.map(({ field }) => fieldName(field, language, { isPlain: true }))
  const changed = fields.length === 0 || group.updated === 0 ? '' : ` · ${text.fields}: ${fields.join(', ')}`
  return [{ text: names.join(', ') }, ...more, ...(changed === '' ? [] : [{ text: changed }])]
}
