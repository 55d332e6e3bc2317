import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useOutdatedShareText } from '../../../components/values/outdated-share-text.ts'
import { StatusText } from '../../../components/values/status-text.tsx'
import type { NodeProblems } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { problemSigns } from './problem-signs.ts'

type TreeSignsProps = {
  problems: NodeProblems
  assets: number
  /** The share of all assets that are outdated. */
  average: number | undefined
}

/**
 * `TreeSigns` shows the unreachable devices and the controllers in stop of a node, and its share of outdated assets if the share is
 * clearly above average.
 */
export function TreeSigns({ problems, assets, average }: TreeSignsProps) {
  const formats = useFormats()
  const { unreachable, inStop, isStopOld, outdatedShare } = problemSigns(problems, { assets, average })
  return (
    <span className="tree-signs" aria-hidden="true">
      {unreachable > 0 && <StatusText tone="bad">{formats.number(unreachable)}</StatusText>}
      {inStop > 0 && (
        <StatusText tone="critical" isLastKnown={isStopOld}>
          {formats.number(inStop)}
        </StatusText>
      )}
      {outdatedShare !== undefined && <StatusText tone="warning">{formats.percent(outdatedShare)}</StatusText>}
    </span>
  )
}

/** Returns a function that states the problems of a node with all numbers. */
export function useProblemTexts(): (problems: NodeProblems) => string[] {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  return ({ unreachable, stopped, lastStopped, outdated }) =>
    [
      unreachable > 0 && text.offlineCount(formats.number(unreachable)),
      stopped > 0 && text.stoppedCount(formats.number(stopped)),
      lastStopped > 0 && text.lastStoppedCount(formats.number(lastStopped)),
      outdated !== undefined && text.outdatedCount(formats.number(outdated)),
    ].filter((part) => part !== false)
}

/** `TreeLegend` explains the signs in the tree. They are the signs of the conditions in the table of assets. */
export function TreeLegend({ average }: { average: number | undefined }) {
  const text = useText(hierarchyMessages)
  const outdatedText = useOutdatedShareText()
  return (
    <p className="tree-legend">
      <StatusText tone="bad">{text.unreachableShort}</StatusText>
      <StatusText tone="critical">{text.stoppedShort}</StatusText>
      <StatusText tone="critical" isLastKnown>
        {text.stoppedOldShort}
      </StatusText>
      {average !== undefined && <StatusText tone="warning">{outdatedText(average)}</StatusText>}
    </p>
  )
}
