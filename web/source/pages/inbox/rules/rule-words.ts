import type { OnboardingRule } from '@millwright/api/inbox.ts'
import type { Tone } from '../../../components/values/status-chip.tsx'
import type { ruleMessages } from './messages.ts'

type RuleMessages = (typeof ruleMessages)['en']

/** Returns the conditions of a rule, each as a short text. A filter with several conditions has several parts. */
export function conditionTexts(
  { gatewayId, gatewayName, ranges, filter }: Pick<OnboardingRule, 'gatewayId' | 'gatewayName' | 'ranges' | 'filter'>,
  text: Pick<RuleMessages, 'gatewayIs' | 'rangesAre'>,
  filterTexts: (filter: string) => string[],
): string[] {
  return [
    ...(gatewayId === undefined ? [] : [text.gatewayIs(gatewayName ?? gatewayId)]),
    ...(ranges.length === 0 ? [] : [text.rangesAre(ranges.length, ranges.join(', '))]),
    ...(filter === undefined ? [] : filterTexts(filter)),
  ]
}

/** Returns the state of a rule, which its chip shows. */
export function ruleState(
  { paused, mode }: Pick<OnboardingRule, 'paused' | 'mode'>,
  text: Pick<RuleMessages, 'paused' | 'proposes' | 'onboardsAutomatically'>,
): { tone: Tone; label: string } {
  if (paused) return { tone: 'warning', label: text.paused }
  return { tone: 'good', label: mode === 'automatic' ? text.onboardsAutomatically : text.proposes }
}

/**
 * Returns how many assets a rule has onboarded. Without onboarded assets, the text names the period of the number, or states that a
 * new rule has no result yet.
 */
export function resultText(
  rule: Pick<OnboardingRule, 'mode' | 'onboarded' | 'lastDecisionTimestamp' | 'createdTimestamp'>,
  text: Pick<RuleMessages, 'onboarded' | 'onboardedNone' | 'noneAccepted' | 'noneAcceptedLately' | 'notUsedYet'>,
  formats: { number: (value: number) => string; compact: (time: string) => string },
  now = Date.now(),
): string {
  const { mode, onboarded, lastDecisionTimestamp, createdTimestamp } = rule
  if (lastDecisionTimestamp !== undefined)
    return text.onboarded(onboarded, formats.number(onboarded), formats.compact(lastDecisionTimestamp))
  const isNew = now - Date.parse(createdTimestamp) < usePeriodMs
  if (mode === 'propose') return isNew ? text.noneAccepted : text.noneAcceptedLately
  return isNew ? text.notUsedYet : text.onboardedNone
}

/** The period of the number of assets that a rule has onboarded. */
const usePeriodMs = 90 * 86_400_000
