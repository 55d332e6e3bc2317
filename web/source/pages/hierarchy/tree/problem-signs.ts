import { isExceptionalShare } from '../../../components/values/outdated-share.ts'
import type { NodeProblems } from '../hierarchy-data.ts'

/** `ProblemSigns` contains what a row of the tree shows of the problems of its assets. The tooltip contains all numbers. */
type ProblemSigns = {
  unreachable: number
  /** The number of controllers in stop, also of those whose mode is only the last known one. */
  inStop: number
  /** Whether the mode of each controller in stop is only the last known one. */
  isStopOld: boolean
  /** The share of assets with outdated firmware, if it is clearly above average. */
  outdatedShare: number | undefined
}

type SignOptions = { assets: number; average: number | undefined }

/** Returns the signs of a node or of a group of assets. */
export function problemSigns(problems: NodeProblems, { assets, average }: SignOptions): ProblemSigns {
  const { unreachable, stopped, lastStopped, outdated = 0 } = problems
  const share = outdated / Math.max(1, assets)
  return {
    unreachable,
    inStop: stopped + lastStopped,
    isStopOld: stopped === 0,
    outdatedShare: isExceptionalShare(share, average) ? share : undefined,
  }
}
