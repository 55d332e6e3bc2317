import { isExceptionalShare } from '../../../components/values/outdated-share.ts'
import type { NodeProblems } from '../hierarchy-data.ts'

/** `ProblemSigns` contains what a row of the tree shows of the problems of its assets. The tooltip contains all numbers. */
export type ProblemSigns = {
  /** The worst problem and the number of its assets: unreachable devices, otherwise controllers in stop. */
  worst: { tone: 'bad' | 'critical'; count: number } | undefined
  /** The share of assets with outdated firmware, if it is clearly above average. */
  outdatedShare: number | undefined
}

type SignOptions = { assets: number; average: number | undefined }

/** Returns the signs of a node or of a group of assets. A controller whose last known mode is stop counts as in stop. */
export function problemSigns(problems: NodeProblems, { assets, average }: SignOptions): ProblemSigns {
  const { unreachable, stopped, lastStopped, outdated = 0 } = problems
  const inStop = stopped + lastStopped
  const share = outdated / Math.max(1, assets)
  return {
    worst:
      unreachable > 0
        ? { tone: 'bad', count: unreachable }
        : inStop > 0
          ? { tone: 'critical', count: inStop }
          : undefined,
    outdatedShare: isExceptionalShare(share, average) ? share : undefined,
  }
}
