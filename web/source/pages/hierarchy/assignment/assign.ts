import { pause } from '@millwright/api/back-off.ts'
import type { Assignment, ItemResult } from '@millwright/api/hierarchy.ts'
import type { Api } from '../../../app/api/client.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { showError, showSuccess, showWarning } from '../../../components/feedback/toast.ts'
import { showUndo } from '../../../components/feedback/undo-toast.tsx'
import { useHierarchyRefresh } from '../hierarchy-data.ts'
import { hierarchyLimits } from '../limits.ts'
import { hierarchyMessages } from '../messages.ts'
import { type AssignmentOutcome, outcomeOf, undoOutcome } from './outcome.ts'

const pollMs = 400
const activeStates: readonly Assignment['state'][] = ['queued', 'running', 'canceling']

export function isActive({ state }: Pick<Assignment, 'state'>): boolean {
  return activeStates.includes(state)
}

type AssignmentAnswer = { assignmentId: string; results: ItemResult[] }
type Target = { id: string; name: string }

/** Returns the actions that assign assets to nodes. Each action shows its result with an undo button. */
export function useAssign() {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const api = useApi()
  const refresh = useHierarchyRefresh()

  const undo = async (assignmentIds: readonly string[]) => {
    const undos: Assignment[] = []
    for (const id of assignmentIds) {
      const { data } = await api.hierarchy.undoAssignment({ params: { id } })
      undos.push(await ended(api, data.id))
    }
    const { returned, unchanged, failed } = undoOutcome(undos)
    const left = [
      ...(unchanged > 0 ? [text.leftUnchanged(formats.number(unchanged))] : []),
      ...(failed > 0 ? [text.countFailed(formats.number(failed))] : []),
    ]
    if (left.length === 0) showSuccess(text.undone(returned, formats.number(returned)))
    else showWarning(text.undoneInPart(formats.number(returned), left.join(', ')))
    await refresh()
  }
  const report = (message: string, assignmentIds: readonly string[]) =>
    showUndo(message, text.undo, () =>
      undo(assignmentIds).catch((error: Error) => showError(text.undoFailed(error.message))),
    )
  const finish = async (answers: readonly AssignmentAnswer[], message: (outcome: AssignmentOutcome) => string) => {
    const outcome = outcomeOf(answers.flatMap(({ results }) => results))
    if (outcome.changed > 0) {
      report(
        message(outcome),
        answers.map(({ assignmentId }) => assignmentId),
      )
    } else if (outcome.failures.length === 0) showSuccess(text.nothingChanged)
    await refresh()
    return outcome
  }
  const assigned =
    (node: Target) =>
    ({ changed, moved }: Pick<AssignmentOutcome, 'changed' | 'moved'>) => {
      if (moved === changed) return text.moved(moved, formats.number(moved), node.name)
      const message = text.assigned(changed, formats.number(changed), node.name)
      return moved === 0 ? message : `${message}, ${text.movedOfThem(formats.number(moved))}`
    }
  const applied = ({ changed, moved }: AssignmentOutcome) => {
    const added = changed - moved
    return [
      ...(added > 0 ? [text.proposalsApplied(added, formats.number(added))] : []),
      ...(moved > 0 ? [text.proposalsMoved(moved, formats.number(moved))] : []),
    ].join(', ')
  }

  return {
    undo,
    /** Assigns assets to a node. An asset that has another node in the same hierarchy is moved. */
    async assign(node: Target, assetIds: readonly string[]) {
      const answers = await inPortions(assetIds, async (ids) => {
        const { data } = await api.hierarchy.assignAssets({
          params: { id: node.id },
          body: { data: { assetIds: ids } },
        })
        return data as AssignmentAnswer
      })
      return finish(answers, assigned(node))
    },
    /** Removes assets from a node, and with `includeBelow` also from the nodes below it. */
    async unassign(node: Target, assetIds: readonly string[], { includeBelow }: { includeBelow: boolean }) {
      const answers = await inPortions(assetIds, async (ids) => {
        const body = { data: { assetIds: ids, includeBelow } }
        return (await api.hierarchy.unassignAssets({ params: { id: node.id }, body })).data
      })
      return finish(answers, ({ changed }) => text.removedFrom(changed, formats.number(changed), node.name))
    },
    /** Assigns assets to the nodes that the rules propose. */
    async applyProposals(hierarchyId: string, assets: { assetId: string; nodeId: string }[]) {
      const { data } = await api.hierarchy.applyProposals({ params: { id: hierarchyId }, body: { data: { assets } } })
      return finish([data], applied)
    },
    /** Starts the assignment of all assets that match a filter. The assignment runs in the background. */
    async assignMatching(node: Target, filter: string) {
      const { data } = await api.hierarchy.assignAssets({ params: { id: node.id }, body: { data: { filter } } })
      const { id } = data as Assignment
      showSuccess(text.assignmentStarted)
      await refresh()
      const reportEnd = async () => {
        const { state, assigned: added, moved } = await ended(api, id)
        if (state === 'finished' && added + moved > 0) {
          report(assigned(node)({ changed: added + moved, moved }), [id])
        }
        await refresh()
      }
      // The error is ignored, because the list of assignments shows the failure.
      reportEnd().catch(() => {})
    },
  }
}

/** Waits until an assignment has ended, and returns it. */
async function ended(api: Api, id: string): Promise<Assignment> {
  for (;;) {
    const { data } = await api.hierarchy.readAssignment({ params: { id } })
    if (!isActive(data)) return data
    await pause(pollMs)
  }
}

/** Sends the ids of assets in several requests, because the API limits the number of assets in one request. */
async function inPortions<Answer>(ids: readonly string[], send: (ids: string[]) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let at = 0; at < ids.length; at += hierarchyLimits.assetsAssigned) {
    answers.push(await send(ids.slice(at, at + hierarchyLimits.assetsAssigned)))
  }
  return answers
}
