import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { isExceptionalShare } from '../../../components/values/outdated-share.ts'

/** The problems of a group in words, the most important one first. */

export type Problem = 'failed' | 'outdated' | 'unmonitored' | 'none'
export type ProblemPart = { problem: Problem; text: string; isExceptional: boolean }

export type ProblemTexts = {
  /** The number of assets with a problem, in words. */
  fact: (kind: 'failed' | 'outdated', count: number) => string
  /** The number of outdated assets with their share, in words. */
  outdatedShare: (outdated: number, assets: number) => string
  unmonitored: string
  noProblem: string
}

export type ProblemCounts = Pick<TopologyGroup, 'assets' | 'monitoring' | 'outdated'>

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
  const { assets, monitoring, outdated } = group
  const { reachable, unreachable, unchecked, unmonitored } = monitoring
  const isExceptional = outdated > 0 && isExceptionalShare(outdated / Math.max(1, assets), average)
  const failed: ProblemPart[] =
    unreachable === 0 ? [] : [{ problem: 'failed', text: texts.fact('failed', unreachable), isExceptional: true }]
  const old = (text: string): ProblemPart => ({ problem: 'outdated', text, isExceptional })
  if (outdated > 0) {
    const [long, brief] = [old(texts.outdatedShare(outdated, assets)), old(texts.fact('outdated', outdated))]
    return [[...failed, long], [...failed, brief], failed.length > 0 ? failed : [brief]]
  }
  if (failed.length > 0) return [failed]
  if (!hasMonitoring) return []
  if (reachable + unchecked > 0) return [[{ problem: 'none', text: texts.noProblem, isExceptional: false }]]
  if (unmonitored > 0) return [[{ problem: 'unmonitored', text: texts.unmonitored, isExceptional: false }]]
  return []
}

/** Compares two groups for a list that starts with the most important problem: unreachable devices, then outdated assets. */
export function compareProblems(one: ProblemCounts, other: ProblemCounts): number {
  const shareOf = ({ outdated, assets }: ProblemCounts) => outdated / Math.max(1, assets)
  return (
    other.monitoring.unreachable - one.monitoring.unreachable ||
    shareOf(other) - shareOf(one) ||
    other.outdated - one.outdated
  )
}
