/** `NextStep` is a recommended step of the user. */
export type NextStep = {
  id: string
  icon: string
  /** The urgency of the step: a fault, or a request of another person. Steps without it are recommendations. */
  tone?: 'bad' | 'critical' | 'warning' | 'info'
  title: string
  detail: string
  to: string
  search?: Record<string, string>
  /** A link below the step, to the other objects with the same fault. */
  further?: { text: string; to: string }
}

/** The number of steps that are shown at once. */
const maxShown = 6

const ranks = { bad: 0, critical: 1, warning: 1, info: 2 } as const
const recommendationRank = 3

/** The shown steps, and the steps that the user can open. `areRecommendations` states that no hidden step is urgent. */
export type NextSteps = { shown: NextStep[]; hidden: NextStep[]; areRecommendations: boolean }

/** Sorts the steps by urgency. The recommendations are hidden if there are urgent steps, so that both are not mixed. */
export function nextSteps(steps: readonly NextStep[]): NextSteps {
  const sorted = steps.toSorted((one, other) => rankOf(one) - rankOf(other))
  const urgent = sorted.filter(({ tone }) => tone !== undefined)
  const shown = (urgent.length > 0 ? urgent : sorted).slice(0, maxShown)
  const hidden = sorted.slice(shown.length)
  return { shown, hidden, areRecommendations: hidden.every(({ tone }) => tone === undefined) }
}

function rankOf({ tone }: NextStep): number {
  return tone === undefined ? recommendationRank : ranks[tone]
}
