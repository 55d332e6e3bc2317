import type { ActivityEntry } from '@millwright/api/activity.ts'
import type { Decision } from '@millwright/api/inbox.ts'
import { linkTitle } from '../discovery/built-in-links.ts'
import { nounOf, verbOf } from './audit-words.ts'
import { authorPart } from './author-name.ts'
import { isDecision, isLinkOutage, linksOf, outageOf } from './entry-rows.ts'
import { fill, type SentenceContext, type SentencePart } from './sentence-part.ts'

/** The sentences of actions that need other words than their verb and their object. */
const templates = {
  'identity.signIn': ['signedIn', 'signInFailed'],
  'identity.externalSignIn': ['signedInExternally', 'signInFailed'],
  'identity.providerSignIn': ['signedInExternally', 'signInFailed'],
  'identity.signOut': ['signedOut', 'signedOut'],
  'identity.backchannelLogout': ['signedOut', 'signedOut'],
  'identity.secondFactor': ['secondFactor', 'secondFactorFailed'],
  'identity.stepUp': ['confirmed', 'confirmFailed'],
  'identity.changePassword': ['passwordChanged', 'passwordChangeFailed'],
  'authorization.createGrant': ['granted', 'grantFailed'],
  'authorization.deleteGrant': ['revoked', 'grantFailed'],
  'onboarding.enrol': ['enrolled', 'enrolFailed'],
} as const

/** Returns whether an action has its own sentence. */
export function isSpecialAction(action: string): boolean {
  return Object.hasOwn(templates, action)
}

/** Returns the sentence of an audit entry: who did what with which object. */
export function auditSentence(entry: ActivityEntry, context: SentenceContext): SentencePart[] {
  const { text, language } = context
  const { action, outcome, object, principalName } = entry
  const isDone = outcome === 'done'
  // A gateway that connects for the first time has only its id.
  const isOwnId = object?.name !== undefined && principalName === `gateway ${object.id}`
  const who = authorPart(isOwnId ? { ...entry, principalName: `gateway ${object.name}` } : entry, text)
  const special = templates[action as keyof typeof templates]
  if (special !== undefined) return fill(text[special[isDone ? 0 : 1]], { who, ...grantParts(entry, context) })
  const named = isDone ? namedSentence(entry, { who, context }) : undefined
  if (named !== undefined) return named
  const operation = action.split('.')[1] ?? action
  const noun = nounOf(operation, language)
  const verb = verbOf(operation, language)
  const subject = object === undefined ? {} : { subject: `${object.kind}/${object.id}` }
  const objectName = object?.name ?? scanName(entry, context)
  const name: SentencePart[] =
    objectName === undefined ? [] : [{ text: ' ' }, { text: objectName, role: 'object', ...subject }]
  const template = isDone ? text.did : outcome === 'denied' ? text.deniedTo : text.failedTo
  return fill(template, {
    who,
    verb: { text: isDone ? verb.past : verb.base },
    // An object without a name is the link itself.
    object: { text: noun, ...(name.length === 0 ? subject : {}) },
  }).flatMap((part) => (part.text === noun ? [part, ...name] : [part]))
}

type NamedOptions = { who: SentencePart; context: SentenceContext }

/** Returns the sentence of an action whose objects are in its details: an assignment to a node, or a relation. */
function namedSentence(entry: ActivityEntry, { who, context }: NamedOptions): SentencePart[] | undefined {
  const { text, number } = context
  const { action, detail = {}, names = {} } = entry
  if (action === 'hierarchy.assignAssets' || action === 'hierarchy.finishAssignment') {
    const { kind, nodeId, removed } = detail as Readonly<Record<string, unknown>>
    const isRemoval = typeof nodeId !== 'string'
    const total = assignedBy(entry) + (isRemoval ? Number(removed ?? 0) : 0)
    // An assignment that runs in the background has no result yet.
    const count = {
      text: total === 0 ? text.someAssets : text.assetCount(number(total), total),
      role: 'value',
    } as const
    if (kind === 'undo') return fill(text.assignmentUndone, { who, count })
    if (kind === 'rules') return fill(text.assignedByRules, { who, count })
    if (isRemoval) return fill(text.unassigned, { who, count })
    const node = { text: names[nodeId] ?? text.aNode, role: 'object', subject: `node/${nodeId}` } as const
    return fill(text.assigned, { who, count, node })
  }
  if (isDecision(entry)) return decisionSentence(entry, { who, context })
  if (isLinkOutage(action)) return outageSentence(entry, context)
  if (action === 'discovery.createDiscovery') return scanSentence(entry, { who, context })
  if (action === 'discovery.updateDiscovery' || action === 'discovery.runDiscovery')
    return changedScanSentence(entry, { who, context })
  if (action !== 'inventory.createRelation') return undefined
  const [subject, object] = [detail.subject, detail.object].map((entity) => entityPart(entity, names))
  return subject && object && fill(text.related, { who, subject, object })
}

const decisionActions = ['onboard', 'ignore', 'return', 'undo'] as const satisfies Decision['action'][]

/** Returns the sentence of a decision in the inbox. The changes of its assets are separate entries. */
function decisionSentence({ detail = {}, object }: ActivityEntry, { who, context: { text, number } }: NamedOptions) {
  const action = decisionActions.find((each) => each === detail.action)
  if (action === undefined || object === undefined) return undefined
  const total = Number(detail.assets ?? 0)
  const count = { text: text.assetCount(number(total), total), role: 'value' } as const
  const inbox = { text: text.inbox, role: 'object', subject: `decision/${object.id}` } as const
  return fill(text[`decision_${action}`], { who, count, inbox })
}

/**
 * Returns the sentence of the links of a gateway that no longer respond, or that respond again. With a duration, it is the sentence of an
 * outage that has ended.
 */
export function outageSentence(
  entry: ActivityEntry,
  { text, language }: SentenceContext,
  duration?: SentencePart,
): SentencePart[] | undefined {
  const { object } = entry
  // A link can expire twice within a minute.
  const links = [...new Set(linksOf(entry).map(({ link }) => linkTitle(link)))]
  if (object === undefined || links.length === 0) return undefined
  const gateway = { text: object.name ?? object.id, role: 'object', subject: `gateway/${object.id}` } as const
  const names = { text: new Intl.ListFormat(language).format(links), role: 'value' } as const
  const [one, several] =
    duration !== undefined
      ? [text.linkWasLost, text.linksWereLost]
      : outageOf(entry) === 'begin'
        ? [text.linkExpired, text.linksExpired]
        : [text.linkRecovered, text.linksRecovered]
  return fill(links.length === 1 ? one : several, { gateway, links: names, duration })
}

/** Returns the sentence of a new scan: its link and, if it is known, its gateway. A scan with a schedule starts later. */
function scanSentence({ detail = {}, names = {}, object }: ActivityEntry, { who, context: { text } }: NamedOptions) {
  const { gatewayId, assetLinkId, cron } = detail as Readonly<Record<string, unknown>>
  if (typeof assetLinkId !== 'string' || object === undefined) return undefined
  const gatewayName = names[String(gatewayId)]
  const gateway = { text: gatewayName ?? '', role: 'object', subject: `gateway/${gatewayId}` } as const
  const scan = { text: text.aScan, role: 'object', subject: `discovery/${object.id}` } as const
  const link = { text: linkTitle(assetLinkId) }
  const isScheduled = typeof cron === 'string'
  if (gatewayName === undefined) return fill(isScheduled ? text.scanScheduled : text.scanStarted, { who, scan, link })
  return fill(isScheduled ? text.scanScheduledOn : text.scanStartedOn, { who, scan, link, gateway })
}

/** Returns the sentence of a scan whose schedule, range or settings were changed, alone or together with its start. */
function changedScanSentence(entry: ActivityEntry, { who, context }: NamedOptions): SentencePart[] | undefined {
  const { text, language } = context
  const { action, object } = entry
  const changed = changedFields(entry)
  const name = scanName(entry, context)
  if (changed.length === 0 || name === undefined || object === undefined) return undefined
  const scan = { text: name, role: 'object', subject: `discovery/${object.id}` } as const
  const names = changed.map((field) => text[`scan_${field}`])
  const fields = { text: new Intl.ListFormat(language).format(names), role: 'value' } as const
  const template = action === 'discovery.updateDiscovery' ? text.scanChanged : text.scanStartedWith
  return fill(template, { who, scan, fields })
}

const scanFields = ['schedule', 'range', 'settings'] as const

function changedFields({ detail = {} }: ActivityEntry) {
  const { changed } = detail as Readonly<Record<string, unknown>>
  return Array.isArray(changed) ? scanFields.filter((field) => changed.includes(field)) : []
}

/** Returns the name of a scan: its link and its scope. */
function scanName({ object, detail = {} }: ActivityEntry, { text }: SentenceContext): string | undefined {
  const { assetLinkId, scope } = detail as Readonly<Record<string, unknown>>
  if (object?.kind !== 'discovery' || typeof assetLinkId !== 'string' || !Array.isArray(scope)) return undefined
  return `${linkTitle(assetLinkId)}: ${scope.length === 0 ? text.allDevices : scope.join(', ')}`
}

/** Returns the number of assets that an assignment has assigned or moved to its node. */
export function assignedBy({ detail = {} }: Pick<ActivityEntry, 'detail'>): number {
  return Number(detail.assigned ?? 0) + Number(detail.moved ?? 0)
}

/** Returns the name of one end of a relation, or undefined if it is not known. */
export function entityPart(entity: unknown, names: Readonly<Record<string, string>>): SentencePart | undefined {
  if (typeof entity !== 'object' || entity === null) return undefined
  const { type, id } = entity as Readonly<Record<string, unknown>>
  const name = typeof id === 'string' ? names[id] : undefined
  return name === undefined ? undefined : { text: name, role: 'object', subject: `${type}/${id}` }
}

/** Returns the role, the principal and the access group of a grant. */
function grantParts({ detail = {}, names = {} }: ActivityEntry, { text }: SentenceContext) {
  const { role, principal, accessGroup } = detail as Readonly<Record<string, unknown>>
  const named = (id: unknown) => (typeof id === 'string' ? (names[id] ?? id) : '')
  return {
    role: { text: typeof role === 'string' ? role : '', role: 'value' } as const,
    principal: { text: named(principal), role: 'value' } as const,
    scope: { text: typeof accessGroup === 'string' ? ` ${text.inGroup(named(accessGroup))}` : '' },
  }
}
