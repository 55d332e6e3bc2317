import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { StatusText } from '../../../components/values/status-text.tsx'
import type { NodeProblems } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { problemSigns } from './problem-signs.ts'

/** `TreeSigns` shows the unreachable devices and the controllers in stop of a node. */
export function TreeSigns({ problems }: { problems: NodeProblems }) {
  const formats = useFormats()
  return (
    <span className="tree-signs" aria-hidden="true">
      {problemSigns(problems).map(({ id, tone, isLastKnown, count }) => (
        <StatusText key={id} tone={tone} isLastKnown={isLastKnown}>
          {formats.number(count)}
        </StatusText>
      ))}
    </span>
  )
}

/** Returns a function that states the problems of a node with all numbers. */
export function useProblemTexts(): (problems: NodeProblems) => string[] {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  return ({ unreachable, stopped, lastStopped }) =>
    [
      unreachable > 0 && text.offlineCount(formats.number(unreachable)),
      stopped > 0 && text.stoppedCount(formats.number(stopped)),
      lastStopped > 0 && text.lastStoppedCount(formats.number(lastStopped)),
    ].filter((part) => part !== false)
}

/** `TreeLegend` explains the signs in the tree. They are the signs of the conditions in the table of assets. */
export function TreeLegend() {
  const text = useText(hierarchyMessages)
  return (
    <p className="tree-legend">
      <StatusText tone="bad">{text.unreachableShort}</StatusText>
      <StatusText tone="critical">{text.stoppedShort}</StatusText>
      <StatusText tone="critical" isLastKnown>
        {text.stoppedOldShort}
      </StatusText>
    </p>
  )
}
