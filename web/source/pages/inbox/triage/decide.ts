import { pause } from '@millwright/api/back-off.ts'
import type { Decision, DecisionAction } from '@millwright/api/inbox.ts'
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { Api } from '../../../app/api/client.ts'
import { failureOf } from '../../../app/api/failure.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { showError, showSuccess, showWarning } from '../../../components/feedback/toast.ts'
import { closeUndo, showUndo } from '../../../components/feedback/undo-toast.tsx'
import { inboxMessages } from '../messages.ts'

export type DecisionRequest = {
  action: DecisionAction
  assetIds?: string[]
  ruleId?: string
  accessGroupId?: string
  nodeId?: string
  useProposals?: boolean
}

const pollMs = 150

/** Waits for the end of a decision. `onProgress` receives the number of handled assets. */
async function endOf(api: Api, first: Decision, onProgress: (decision: Decision) => void): Promise<Decision> {
  let decision = first
  while (decision.state === 'running') {
    await pause(pollMs)
    decision = (await api.inbox.readDecision({ params: { id: decision.id }, query: {} })).data
    onProgress(decision)
  }
  return decision
}

/**
 * Returns the actions that decide about assets of the inbox. Each action shows its result with an undo button. `undoLast`
 * undoes the last decision of this page.
 */
export function useDecide(onChange: () => void) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const api = useApi()
  const queryClient = useQueryClient()
  const [running, setRunning] = useState<Decision>()
  const made = useRef<string[]>([])

  const refresh = async () => {
    setRunning(undefined)
    onChange()
    await queryClient.invalidateQueries({ queryKey: keyOf('inbox') })
  }
  const undo = async (id: string) => {
    made.current = made.current.filter((each) => each !== id)
    closeUndo()
    try {
      const { data } = await api.inbox.undoDecision({ params: { id } })
      const { changed, failed } = await endOf(api, data, setRunning)
      const message = text.undone(changed, formats.number(changed))
      if (failed === 0) showSuccess(message)
      else showWarning(`${message}. ${text.undoKept(formats.number(failed))}`)
    } catch (error) {
      showError(text.undoFailed(failureOf(error).message))
    } finally {
      await refresh()
    }
  }
  const decide = async (request: DecisionRequest): Promise<Decision> => {
    try {
      const { data } = await api.inbox.createDecision({ body: { data: request } })
      const decision = await endOf(api, data, setRunning)
      const { id, changed, failed, notAssigned, problem } = decision
      const verb = { onboard: text.onboarded, ignore: text.wasIgnored, return: text.restored }[request.action]
      if (problem !== undefined) showError(problem.detail)
      else if (failed + notAssigned > 0)
        showWarning(text.decidedInPart(formats.number(changed), formats.number(failed), formats.number(notAssigned)))
      if (changed > 0) {
        made.current = [...made.current, id]
        if (problem === undefined && failed + notAssigned === 0)
          showUndo(verb(changed, formats.number(changed)), text.undoWithKey, () => undo(id))
      }
      return decision
    } finally {
      await refresh()
    }
  }
  const undoLast = async () => {
    const last = made.current.at(-1)
    if (last === undefined) showWarning(text.nothingToUndo)
    else await undo(last)
  }
  return { decide, undo, undoLast, running }
}
