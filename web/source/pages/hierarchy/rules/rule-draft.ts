import type { Rule } from '@millwright/api/hierarchy.ts'

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
