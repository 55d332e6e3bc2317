import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { BulkDeleteDialog } from '../assets/bulk/bulk-dialogs.tsx'
import { BulkProgress, type BulkProgressState } from '../assets/bulk/bulk-progress.tsx'
import { writeInBulk } from '../assets/bulk/bulk-result.ts'
import { maxSelected } from '../assets/model/limits.ts'
import type { AssetSelection } from '../assets/table/selection.ts'
import type { InboxList } from './inbox-list.ts'
import { inboxMessages } from './messages.ts'

type State = 'regarded' | 'ignored' | 'unknown'
type DecisionBarProps = { list: InboxList; selection: AssetSelection; total: number; onDone: () => void }

/** `DecisionBar` contains the actions for the selected assets of the inbox: onboard, ignore and delete. */
export function DecisionBar({ list, selection, total, onDone }: DecisionBarProps) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const api = useApi()
  const canWrite = usePermission('inventory_write_asset_data')
  const [busy, setBusy] = useState<State | 'gathering'>()
  const [failure, setFailure] = useState<unknown>()
  const [progress, setProgress] = useState<BulkProgressState>()
  const [isDeleting, setDeleting] = useState(false)
  const { ids, clear, selectMatching } = selection
  const finish = () => {
    clear()
    onDone()
  }
  const messages = { regarded: text.onboarded, ignored: text.wasIgnored, unknown: text.restored }
  const decide = async (state: State) => {
    setBusy(state)
    setFailure(undefined)
    setProgress({ done: 0 })
    try {
      const outcome = await writeInBulk({
        ids: [...ids],
        write: (some) =>
          api.inventory.setManagementStates({
            headers: { prefer: 'wait=30' },
            body: { data: some.map((id) => ({ asset_id: id, state_value: state })) },
          }),
        onProgress: (done) => setProgress({ done }),
      })
      if (outcome.done > 0) showSuccess(messages[state](outcome.done, formats.number(outcome.done)))
      setProgress(outcome.failures.length === 0 ? undefined : { done: ids.size, outcome })
      if (outcome.failures.length === 0) finish()
      else onDone()
    } catch (error) {
      setProgress(undefined)
      setFailure(error)
    } finally {
      setBusy(undefined)
    }
  }
  const selectAll = async () => {
    setBusy('gathering')
    await selectMatching()
      .catch(setFailure)
      .finally(() => setBusy(undefined))
  }
  const reach = Math.min(total, maxSelected)
  const other: [State, string] = list === 'ignored' ? ['unknown', text.restore] : ['ignored', text.ignore]
  return (
    <>
      <div className="bulk-bar" role="toolbar" aria-label={text.selected(formats.number(ids.size))}>
        <strong>{text.selected(formats.number(ids.size))}</strong>
        {canWrite && (
          <>
            <IxButton loading={busy === 'regarded'} onClick={() => decide('regarded')}>
              {text.onboard}
            </IxButton>
            <IxButton variant="secondary" loading={busy === other[0]} onClick={() => decide(other[0])}>
              {other[1]}
            </IxButton>
            <IxButton variant="danger-secondary" onClick={() => setDeleting(true)}>
              {text.delete}
            </IxButton>
          </>
        )}
        {ids.size < reach && (
          <IxButton variant="subtle-primary" loading={busy === 'gathering'} onClick={selectAll}>
            {text.selectMatching(formats.number(reach))}
          </IxButton>
        )}
        <IxButton variant="subtle-primary" onClick={clear}>
          {text.unselect}
        </IxButton>
      </div>
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {progress !== undefined && <BulkProgress progress={progress} all={ids.size} />}
      {isDeleting && <BulkDeleteDialog ids={[...ids]} onClose={() => setDeleting(false)} onDone={finish} />}
    </>
  )
}
