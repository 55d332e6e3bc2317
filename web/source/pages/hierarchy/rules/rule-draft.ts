import type { Rule } from '@millwright/api/hierarchy.ts'
import type { FieldError } from '@millwright/api/problem.ts'

/** `DraftRule` is a rule while the user edits it. An empty text means that the value is not set. */
export type DraftRule = { key: string; nodeId: string; namePattern: string; subnet: string; gatewayId: string }

export function newDraft(): DraftRule {
  return { key: crypto.randomUUID(), nodeId: '', namePattern: '', subnet: '', gatewayId: '' }
}

export function draftsOf(rules: readonly Rule[]): DraftRule[] {
  return rules.map((rule) => ({ ...newDraft(), ...rule }))
}

/**
 * Returns true when a rule has a node and at least one condition. A rule without a condition would match all assets.
 */
export function isComplete({ nodeId, namePattern, subnet, gatewayId }: DraftRule): boolean {
  return nodeId !== '' && [namePattern, subnet, gatewayId].some((condition) => condition.trim() !== '')
}

export function rulesOf(drafts: readonly DraftRule[]): Rule[] {
  return drafts.map(({ nodeId, namePattern, subnet, gatewayId }) => ({
    nodeId,
    ...(namePattern.trim() !== '' && { namePattern: namePattern.trim() }),
    ...(subnet.trim() !== '' && { subnet: subnet.trim() }),
    ...(gatewayId !== '' && { gatewayId }),
  }))
}

/** Returns true when the edited rules differ from the saved ones. */
export function hasChanges(drafts: readonly DraftRule[], saved: readonly Rule[]): boolean {
  return JSON.stringify(rulesOf(drafts)) !== JSON.stringify(rulesOf(draftsOf(saved)))
}

/** `RuleError` is a field of a rule that the server rejected. */
export type RuleError = { key: string; field: keyof Rule; detail: string }

const fields: readonly string[] = ['nodeId', 'namePattern', 'subnet', 'gatewayId'] satisfies (keyof Rule)[]

/** Returns the rejected fields of rules. An error without a field belongs to the first condition. */
export function ruleErrors(errors: readonly FieldError[], drafts: readonly DraftRule[]): RuleError[] {
  return errors.flatMap(({ pointer, detail }) => {
    const [, index, name = 'namePattern'] = /^\/data\/rules\/(\d+)(?:\/(\w+))?/.exec(pointer) ?? []
    const draft = drafts[Number(index)]
    return draft === undefined || !fields.includes(name) ? [] : [{ key: draft.key, field: name as keyof Rule, detail }]
  })
}
