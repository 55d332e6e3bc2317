import type { Assignment } from '@millwright/api/hierarchy.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { isFailure } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useHierarchyRefresh, useNode } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { isActive, useAssign } from './assign.ts'

/** The interval at which the progress of a running assignment is read. */
const progressMs = 1_000

function useAssignments(hierarchyId: string) {
  const query = useOperationQuery()
  const input = { query: { hierarchyId, limit: 20 } }
  return useQuery({
    ...query(['hierarchy', 'listAssignments'], input, { live: ['hierarchy.assignment'] }),
    refetchInterval: ({ state }) => (state.data?.data.some(isActive) ? progressMs : false),
  })
}

/** Loads the assignment that an undo returns. */
function useAssignment(id: string | undefined) {
  const query = useOperationQuery()
  const input = { params: { id: id ?? '' } }
  return useQuery({ ...query(['hierarchy', 'readAssignment'], input), enabled: id !== undefined }).data?.data
}

/** `AssignmentProgress` shows the assignments that are running in the background. */
export function AssignmentProgress({ hierarchyId }: { hierarchyId: string }) {
  const assignments = useAssignments(hierarchyId)
  return assignments.data?.data.filter(isActive).map((each) => <RunningAssignment key={each.id} assignment={each} />)
}

function RunningAssignment({ assignment }: { assignment: Assignment }) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const label = text.running(assignment.total, formats.number(assignment.total))
  return (
    <div className="page-note assignment-progress" role="status">
      <span>{label}</span>
      <Progress value={assignment.progress} label={label} />
      <AssignmentAction assignment={assignment} />
    </div>
  )
}

/** `AssignmentsDialog` lists the latest assignments of a hierarchy. The user can undo them. */
export function AssignmentsDialog({ hierarchyId, onClose }: { hierarchyId: string; onClose: () => void }) {
  const text = useText(hierarchyMessages)
  const assignments = useAssignments(hierarchyId)
  return (
    <Dialog title={text.assignments} onClose={onClose} isWide>
      <QueryState query={assignments}>
        {({ data }) =>
          data.length === 0 ? (
            <p>{text.noAssignments}</p>
          ) : (
            <ul className="assignments">
              {data.map((assignment) => (
                <AssignmentRow key={assignment.id} assignment={assignment} />
              ))}
            </ul>
          )
        }
      </QueryState>
    </Dialog>
  )
}

function AssignmentRow({ assignment }: { assignment: Assignment }) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const undone = useAssignment(assignment.undoes ?? undefined)
  const node = useNode(assignment.nodeId ?? undone?.nodeId)
  const nodeName = isFailure(node.error, 'not_found') ? text.deletedNode : node.data?.name
  const { assigned, moved, removed, unchanged, failed } = assignment
  const counts = [
    [assigned, text.countAssigned],
    [moved, text.countMoved],
    [removed, text.countRemoved],
    [unchanged, text.countUnchanged],
    [failed, text.countFailed],
  ] as const
  const shown = counts.filter(([count]) => count > 0).map(([count, label]) => label(formats.number(count)))
  return (
    <li>
      <div>
        <p>
          <strong>{undone === undefined ? text[kindOf(assignment)] : text.undoOf(text[kindOf(undone)])}</strong>
          {nodeName !== undefined && ` · ${nodeName}`}
        </p>
        <p>{shown.length === 0 ? text.nothingChanged : shown.join(', ')}</p>
        {assignment.problem !== undefined && (
          <p className="field-error" lang="en">
            {assignment.problem.detail}
          </p>
        )}
        <p className="quiet">
          <Time at={assignment.createdTimestamp} />, {assignment.principalName}, {text[states[assignment.state]]}
          {assignment.undoneBy !== undefined && `, ${text.wasUndone}`}
        </p>
      </div>
      <AssignmentAction assignment={assignment} />
    </li>
  )
}

const kinds = { ids: 'kindIds', filter: 'kindFilter', rules: 'kindRules', undo: 'kindUndo' } as const

function kindOf({ kind, removed }: Assignment) {
  return kind === 'ids' && removed > 0 ? 'kindRemoval' : kinds[kind]
}

const states = {
  queued: 'stateQueued',
  running: 'stateRunning',
  canceling: 'stateCanceling',
  finished: 'stateFinished',
  failed: 'stateFailed',
  canceled: 'stateCanceled',
} as const

/**
 * `AssignmentAction` is the button that cancels a running assignment, or undoes an assignment that has ended. It is shown
 * only if the user can do this.
 */
function AssignmentAction({ assignment }: { assignment: Assignment }) {
  const text = useText(hierarchyMessages)
  const api = useApi()
  const refresh = useHierarchyRefresh()
  const { undo } = useAssign()
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const { id, canCancel, canUndo } = assignment
  if (!canCancel && !canUndo) return null
  const cancel = async () => {
    await api.hierarchy.cancelAssignment({ params: { id } })
    await refresh()
  }
  const act = async () => {
    setBusy(true)
    setFailure(undefined)
    await (canCancel ? cancel() : undo([id])).catch(setFailure)
    setBusy(false)
  }
  return (
    <div>
      <IxButton key={String(canCancel)} variant="secondary" loading={isBusy} onClick={act}>
        {canCancel ? text.cancelAssignment : text.undo}
      </IxButton>
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </div>
  )
}
