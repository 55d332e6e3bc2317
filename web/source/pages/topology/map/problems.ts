import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { isExceptionalShare } from '../../../components/values/outdated-share.ts'

/** The problems of a group in words, the most important one first. */

export type Problem = 'failed' | 'stopped' | 'outdated' | 'unmonitored' | 'none'
export type ProblemPart = { problem: Problem; text: string; isExceptional: boolean }

export type ProblemTexts = {
  /** The number of assets with a problem, in words. */
  fact: (kind: 'failed' | 'stopped' | 'outdated', count: number) => string
  /** The number of outdated assets with their share, in words. */
  outdatedShare: (outdated: number, assets: number) => string
  unmonitored: string
  noProblem: string
}

export type ProblemCounts = Pick<TopologyGroup, 'assets' | 'monitoring' | 'stopped' | 'outdated'>

export type ProblemOptions = {
  /** The share of outdated assets of the whole map. */
  average: number
  /** Whether the results of monitoring are known. */
  hasMonitoring: boolean
  texts: ProblemTexts
}

/**
 * Returns the texts about the problems of a group, from the longest to the shortest. A shorter one leaves out the share of the outdated
 * assets, and then all but the most important problem.
 */
export function problemTexts(group: ProblemCounts, { average, hasMonitoring, texts }: ProblemOptions): ProblemPart[][] {
  const { assets, monitoring, stopped, outdated } = group
  const { reachable, unreachable, unchecked, unmonitored } = monitoring
  const isExceptional = outdated > 0 && isExceptionalShare(outdated / Math.max(1, assets), average)
  const faults = [
    { problem: 'failed', count: unreachable },
    { problem: 'stopped', count: stopped },
  ] as const
  const failed = faults.flatMap(({ problem, count }): ProblemPart[] =>
    count === 0 ? [] : [{ problem, text: texts.fact(problem, count), isExceptional: true }],
  )
  const old = (text: string): ProblemPart => ({ problem: 'outdated', text, isExceptional })
  if (outdated > 0) {
    const [long, brief] = [old(texts.outdatedShare(outdated, assets)), old(texts.fact('outdated', outdated))]
    return [[...failed, long], [...failed, brief], ...(failed.length > 0 ? shorterOf(failed) : [])]
  }
  if (failed.length > 0) return shorterOf(failed)
  if (!hasMonitoring) return []
  if (reachable + unchecked > 0) return [[{ problem: 'none', text: texts.noProblem, isExceptional: false }]]
  if (unmonitored > 0) return [[{ problem: 'unmonitored', text: texts.unmonitored, isExceptional: false }]]
  return []
}

/** Returns the problem that determines the colour of a group. Outdated assets do only if their share is exceptional. */
export function worstProblem(
  { assets, monitoring, stopped, outdated }: ProblemCounts,
  average: number,
): Exclude<Problem, 'unmonitored'> {
  if (monitoring.unreachable > 0) return 'failed'
  if (stopped > 0) return 'stopped'
  return outdated > 0 && isExceptionalShare(outdated / Math.max(1, assets), average) ? 'outdated' : 'none'
}

/** Returns all parts, and then only the most important one. */
function shorterOf(parts: ProblemPart[]): ProblemPart[][] {
  return parts.length > 1 ? [parts, parts.slice(0, 1)] : [parts]
}

/**
 * Compares two groups for a list that starts with the most important problem: unreachable devices, then assets in stop, then outdated
 * assets.
 */
export function compareProblems(one: ProblemCounts, other: ProblemCounts): number {
  const shareOf = ({ outdated, assets }: ProblemCounts) => outdated / Math.max(1, assets)
  return (
    other.monitoring.unreachable - one.monitoring.unreachable ||
    other.stopped - one.stopped ||
    shareOf(other) - shareOf(one) ||
    other.outdated - one.outdated
  )
}
