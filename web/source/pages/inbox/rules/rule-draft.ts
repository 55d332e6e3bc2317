import type { OnboardingRule, OnboardingRuleInput } from '@millwright/api/inbox.ts'

/** `RuleDraft` contains the fields of the form of an onboarding rule. Empty texts mean that a field is not set. */
export type RuleDraft = {
  name: string
  gatewayId: string
  /** The ranges, one per line or separated by commas. */
  ranges: string
  filter: string
  accessGroupId: string
  nodeId: string
  isAutomatic: boolean
  cap: string
}

const defaultCap = 200

export function draftOf(rule: OnboardingRule | undefined): RuleDraft {
  return {
    name: rule?.name ?? '',
    gatewayId: rule?.gatewayId ?? '',
    ranges: rule?.ranges.join('\n') ?? '',
    filter: rule?.filter ?? '',
    accessGroupId: rule?.accessGroupId ?? '',
    nodeId: rule?.nodeId ?? '',
    isAutomatic: rule?.mode === 'automatic',
    cap: String(rule?.cap ?? defaultCap),
  }
}

export function rangesOf({ ranges }: Pick<RuleDraft, 'ranges'>): string[] {
  return ranges.split(/[\n,;]+/).flatMap((range) => (range.trim() === '' ? [] : [range.trim()]))
}

/** Returns whether the draft has a condition. A rule without a condition would match every new asset. */
export function hasCondition(draft: RuleDraft): boolean {
  return draft.gatewayId !== '' || rangesOf(draft).length > 0 || draft.filter.trim() !== ''
}

/** Returns the conditions and the target of a draft, for a preview. */
export function matchOf(draft: RuleDraft): Omit<OnboardingRuleInput, 'name' | 'mode' | 'cap'> {
  const ranges = rangesOf(draft)
  const filter = draft.filter.trim()
  return {
    ...(draft.gatewayId !== '' && { gatewayId: draft.gatewayId }),
    ...(ranges.length > 0 && { ranges }),
    ...(filter !== '' && { filter }),
    ...(draft.accessGroupId !== '' && { accessGroupId: draft.accessGroupId }),
    ...(draft.nodeId !== '' && { nodeId: draft.nodeId }),
  }
}

export function inputOf(draft: RuleDraft): OnboardingRuleInput {
  const { isAutomatic, name, cap } = draft
  return {
    name: name.trim(),
    ...matchOf(draft),
    mode: isAutomatic ? 'automatic' : 'propose',
    ...(/^\d+$/.test(cap) && Number(cap) > 0 && { cap: Number(cap) }),
  }
}

/** Returns the update that gives a stored rule the fields of the draft. Cleared fields are null. */
export function updateOf(draft: RuleDraft) {
  const { gatewayId = null, filter = null, accessGroupId = null, nodeId = null, ranges = [], ...rest } = inputOf(draft)
  return { ...rest, gatewayId, filter, accessGroupId, nodeId, ranges }
}

type MatchMessages = {
  matches: (count: number, shown: string) => string
  matchesAtLeast: (shown: string) => string
  matchesNone: string
  matchesNoneYet: string
}

/** Returns how many devices a preview has found. A search that was stopped has found only some of them. */
export function matchText(
  { matched, isComplete }: { matched: number; isComplete: boolean },
  text: MatchMessages,
  shown: string,
): string {
  if (matched === 0) return isComplete ? text.matchesNone : text.matchesNoneYet
  return isComplete ? text.matches(matched, shown) : text.matchesAtLeast(shown)
}
