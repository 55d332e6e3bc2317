import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi, useMay } from '../../app/session/user-context.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { toldDone } from '../../components/feedback/toast.ts'
import { BulkDeleteDialog } from '../assets/bulk/bulk-dialogs.tsx'
import { type Advance, BulkProgress } from '../assets/bulk/bulk-progress.tsx'
import { inBulk } from '../assets/bulk/bulk-result.ts'
import { mostSelected } from '../assets/model/limits.ts'
import type { AssetSelection } from '../assets/table/selection.ts'
import type { InboxList } from './inbox-page.tsx'
import { inboxMessages } from './messages.ts'

type State = 'regarded' | 'ignored' | 'unknown'
type Given = { list: InboxList; selection: AssetSelection; total: number; onDone: () => void }

/** Deciding on the chosen assets. */
export function DecisionBar({ list, selection, total, onDone }: Given) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const api = useApi()
  const mayWrite = useMay('inventory_write_asset_data')
  const [busy, setBusy] = useState<State | 'gathering'>()
  const [failure, setFailure] = useState<unknown>()
  const [progress, setProgress] = useState<Advance>()
  const [isDeleting, setDeleting] = useState(false)
  const { ids, clear, selectMatching } = selection
  const finish = () => {
    clear()
    onDone()
  }
  const told = { regarded: text.onboarded, ignored: text.wasIgnored, unknown: text.restored }
  const decide = async (state: State) => {
    setBusy(state)
    setFailure(undefined)
    setProgress({ done: 0 })
    try {
      const outcome = await inBulk({
        ids: [...ids],
        write: (some) =>
          api.inventory.setManagementStates({
            headers: { prefer: 'wait=30' },
            body: { data: some.map((id) => ({ asset_id: id, state_value: state })) },
          }),
        onProgress: (done) => setProgress({ done }),
      })
      if (outcome.done > 0) toldDone(told[state](outcome.done, formats.number(outcome.done)))
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
  const gather = async () => {
    setBusy('gathering')
    await selectMatching()
      .catch(setFailure)
      .finally(() => setBusy(undefined))
  }
  const reach = Math.min(total, mostSelected)
  const other: [State, string] = list === 'ignored' ? ['unknown', text.restore] : ['ignored', text.ignore]
  return (
    <>
      <div className="bulk-bar" role="toolbar" aria-label={text.selected(formats.number(ids.size))}>
        <strong>{text.selected(formats.number(ids.size))}</strong>
        {mayWrite && (
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
          <IxButton variant="subtle-primary" loading={busy === 'gathering'} onClick={gather}>
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
