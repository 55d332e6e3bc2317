import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { isExceptionalShare } from '../../../components/values/outdated-share.ts'

/**
 * The problems of a group in words, the most important one first. A controller in stop counts as `stopped` if it was read recently, and
 * otherwise as `stoppedKnown`, because its operating mode is only the last known value.
 */

export type Problem = 'failed' | 'stopped' | 'stoppedKnown' | 'outdated' | 'unmonitored' | 'none'
type ProblemPart = {
  problem: Problem
  text: string
  isExceptional: boolean
  /**
   * Whether the text has its own mark. If all texts name only problems, each of them has one. Otherwise, only an exceptional share of
   * outdated assets has one, if a worse problem has the colour of the group.
   */
  isMarked?: boolean
}
export type ProblemFact = 'failed' | 'stopped' | 'stoppedKnown' | 'outdated'

export type ProblemTexts = {
  /** The number of assets with a problem, in words. The long text names what is in stop. */
  fact: (kind: ProblemFact, count: number) => string
  longFact: (kind: ProblemFact, count: number) => string
  /** The number of outdated assets with their share, in words. */
  outdatedShare: (outdated: number, assets: number) => string
  /** Only the share of outdated assets, in words. */
  outdatedPart: (outdated: number, assets: number) => string
  unmonitored: string
  noProblem: string
}

export type ProblemCounts = Pick<TopologyGroup, 'assets' | 'monitoring' | 'stopped' | 'stoppedRead' | 'outdated'>

type ProblemOptions = {
  /** The share of outdated assets of the whole map. */
  average: number
  /** Whether the results of monitoring are known. */
  hasMonitoring: boolean
  /** Whether the longest text contains the share of the outdated assets. */
  hasShare: boolean
  /** Whether only problems are in the texts. Then a usual share of outdated assets is left out, and a high share is a percentage. */
  hasOnlyProblems?: boolean
  /** The names of the unreachable devices of the group, if they are known. */
  names?: readonly string[]
  texts: ProblemTexts
}

/**
 * Returns the texts about the problems of a group, from the longest to the shortest. A shorter one leaves out the names of the unreachable
 * devices, the share of the outdated assets, and then all but the most important problem.
 */
export function problemTexts(
  group: ProblemCounts,
  { average, hasMonitoring, hasShare, hasOnlyProblems = false, names = [], texts }: ProblemOptions,
): ProblemPart[][] {
  const { assets, monitoring, stopped, stoppedRead, outdated } = group
  const { reachable, unreachable, unchecked, unmonitored } = monitoring
  const faults = [
    { problem: 'failed', count: unreachable },
    { problem: 'stopped', count: stoppedRead },
    { problem: 'stoppedKnown', count: stopped - stoppedRead },
  ] as const
  const faultsWith = (textOf: ProblemTexts['fact']) =>
    faults
      .filter(({ count }) => count > 0)
      .map(
        ({ problem, count }): ProblemPart => ({
          problem,
          text: textOf(problem, count),
          // A last known value is not bold, because the controller may run again.
          isExceptional: problem !== 'stoppedKnown',
          isMarked: hasOnlyProblems,
        }),
      )
  const [long, brief] = [faultsWith(texts.longFact), faultsWith(texts.fact)]
  const named =
    names.length === 0
      ? []
      : [
          long.map((part) =>
            part.problem === 'failed' ? { ...part, text: `${part.text}: ${names.join(', ')}` } : part,
          ),
        ]
  const isOld = isMostlyOutdated(group, average)
  // The share determines the colour only without a more important problem.
  const isExceptional = isOld && brief.length === 0
  const isMarked = isOld && (hasOnlyProblems || brief.length > 0)
  const old = (text: string): ProblemPart => ({ problem: 'outdated', text, isExceptional, isMarked })
  if (hasOnlyProblems ? isOld : outdated > 0) {
    const withShare = old(texts.outdatedShare(outdated, assets))
    const shortest = old(hasOnlyProblems ? texts.outdatedPart(outdated, assets) : texts.fact('outdated', outdated))
    return [
      ...named.map((parts) => [...parts, hasShare ? withShare : shortest]),
      ...(hasShare ? [[...long, withShare]] : []),
      ...(brief.length === 0 ? [] : [[...long, shortest]]),
      [...brief, shortest],
      ...(brief.length > 0 ? shorterOf(brief) : []),
    ]
  }
  if (brief.length > 0) return [...named, long, ...shorterOf(brief)]
  if (!hasMonitoring || hasOnlyProblems) return []
  if (reachable + unchecked > 0) return [[{ problem: 'none', text: texts.noProblem, isExceptional: false }]]
  if (unmonitored > 0) return [[{ problem: 'unmonitored', text: texts.unmonitored, isExceptional: false }]]
  return []
}

/** Returns whether a text is bold: an exceptional problem without a mark. */
export function isBold({ isExceptional, isMarked = false }: Pick<ProblemPart, 'isExceptional' | 'isMarked'>): boolean {
  return isExceptional && !isMarked
}

/** The problems that determine the colour of a group, the most important one first. */
const severities = ['failed', 'stopped', 'stoppedKnown', 'outdated', 'none'] as const satisfies Problem[]

/** Returns whether a problem is more important than another one. */
export function isWorse(one: (typeof severities)[number], other: (typeof severities)[number]): boolean {
  return severities.indexOf(one) < severities.indexOf(other)
}

/** Returns the problem that determines the colour of a group. Outdated assets do only if their share is exceptional. */
export function worstProblem(group: ProblemCounts, average: number): (typeof severities)[number] {
  if (group.monitoring.unreachable > 0) return 'failed'
  if (group.stoppedRead > 0) return 'stopped'
  if (group.stopped > 0) return 'stoppedKnown'
  return isMostlyOutdated(group, average) ? 'outdated' : 'none'
}

/** Returns whether the share of the outdated assets of a group is clearly above the average. */
export function isMostlyOutdated({ assets, outdated }: ProblemCounts, average: number): boolean {
  return outdated > 0 && isExceptionalShare(outdated / Math.max(1, assets), average)
}

/** Returns subnets by their worst problem. Subnets with the same one keep their order, and the group of the rest is the last one of them. */
export function worstSubnetsFirst(groups: readonly TopologyGroup[], average: number): TopologyGroup[] {
  const rankOf = (group: TopologyGroup) => severities.indexOf(worstProblem(group, average))
  const isRest = ({ kind }: TopologyGroup) => Number(kind === 'rest')
  return groups.toSorted((one, other) => rankOf(one) - rankOf(other) || isRest(one) - isRest(other))
}

/** At most this many unreachable devices are named. */
export const mostNames = 3

/** Returns the number of unreachable assets in the group of the rest, or 0 if they are too many to name, or not the only ones of the map. */
export function nameableUnreachable(
  top:
    | { groups: readonly Pick<TopologyGroup, 'kind' | 'monitoring'>[]; total: Pick<TopologyGroup, 'monitoring'> }
    | undefined,
): number {
  const rest = top?.groups.find(({ kind }) => kind === 'rest')
  const count = rest?.monitoring.unreachable ?? 0
  // The list of all unreachable assets does not contain their groups.
  return count <= mostNames && count === top?.total.monitoring.unreachable ? count : 0
}

/** Returns whether the group of the rest has a worse problem than every other group, so that the map starts with it. */
export function isRestWorst(rest: TopologyGroup, others: readonly TopologyGroup[], average: number): boolean {
  return worstProblem(rest, average) !== 'none' && others.every((other) => compareCounts(rest, other) < 0)
}

/** Returns all parts, and then only the most important one. */
function shorterOf(parts: ProblemPart[]): ProblemPart[][] {
  return parts.length > 1 ? [parts, parts.slice(0, 1)] : [parts]
}

/**
 * Compares two groups for a list that starts with the most important problem: unreachable devices, then controllers in stop, then
 * controllers whose last known mode is stop, then outdated assets. Groups with equal numbers have the order of their names.
 */
export function compareProblems(
  one: ProblemCounts & Pick<TopologyGroup, 'name'>,
  other: ProblemCounts & Pick<TopologyGroup, 'name'>,
): number {
  return compareCounts(one, other) || (one.name ?? '').localeCompare(other.name ?? '', 'en', { numeric: true })
}

function compareCounts(one: ProblemCounts, other: ProblemCounts): number {
  const shareOf = ({ outdated, assets }: ProblemCounts) => outdated / Math.max(1, assets)
  return (
    other.monitoring.unreachable - one.monitoring.unreachable ||
    other.stoppedRead - one.stoppedRead ||
    other.stopped - one.stopped ||
    shareOf(other) - shareOf(one) ||
    other.outdated - one.outdated
  )
}
