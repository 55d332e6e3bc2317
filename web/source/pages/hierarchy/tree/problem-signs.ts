import type { Tone } from '../../../components/values/status-chip.tsx'
import type { NodeProblems } from '../hierarchy-data.ts'

/** `ProblemSign` is a sign that a row of the tree shows, with the number of assets that have this problem. */
type ProblemSign = { id: keyof NodeProblems; tone: Tone; isLastKnown: boolean; count: number }

/**
 * Returns the signs of a node or of a group of assets. Controllers in stop whose mode was read recently, and those whose mode is only
 * the last known one, have separate signs. Outdated firmware has none, because the tree would show it at almost every node.
 */
export function problemSigns({ unreachable, stopped, lastStopped }: NodeProblems): ProblemSign[] {
  const signs: ProblemSign[] = [
    { id: 'unreachable', tone: 'bad', isLastKnown: false, count: unreachable },
    { id: 'stopped', tone: 'critical', isLastKnown: false, count: stopped },
    { id: 'lastStopped', tone: 'critical', isLastKnown: true, count: lastStopped },
  ]
  return signs.filter(({ count }) => count > 0)
}
