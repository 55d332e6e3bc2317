import type { NodeWindow } from '@millwright/api/updates.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { isFailure } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { updateEvents, useRefreshUpdates } from '../update-data.ts'
import { windowMessages } from './messages.ts'
import { WindowFields, WindowText } from './window-fields.tsx'
import { windowFormOf, windowOf } from './window-form.ts'
import '../updates.css'

/** `NodeWindowCard` shows and edits the maintenance window of a hierarchy node. */
export function NodeWindowCard({ nodeId }: { nodeId: string }) {
  const text = useText(windowMessages)
  const api = useApi()
  const query = useOperationQuery()
  const refresh = useRefreshUpdates()
  const canManage = usePermission('glb_update_manage')
  const [isEditing, setEditing] = useState(false)
  const window = useQuery({ ...query(['updates', 'readWindow'], { params: { nodeId } }, updateEvents), retry: false })
  const isMissing = isFailure(window.error, 'not_found')
  const current = isMissing ? undefined : window.data?.data
  const remove = async () => {
    await api.updates.deleteWindow({ params: { nodeId } })
    showSuccess(text.removed)
    await refresh()
  }
  return (
    <Card
      title={text.window}
      actions={
        canManage &&
        (isMissing || current !== undefined) && (
          <>
            {current !== undefined && (
              <ConfirmButton action={text.remove} title={text.removeTitle} onConfirm={remove}>
                {text.removeText}
              </ConfirmButton>
            )}
            <IxButton variant="secondary" onClick={() => setEditing(true)}>
              {current === undefined ? text.set : text.edit}
            </IxButton>
          </>
        )
      }
    >
      {isMissing ? (
        <p className="quiet">{text.none}</p>
      ) : (
        <QueryState query={window}>{({ data }) => <WindowDetails window={data} />}</QueryState>
      )}
      <p className="field-hint">{text.nodeHint}</p>
      {canManage && (
        <p>
          <Link to="/updates/campaigns/new" search={{ node: nodeId } as never}>
            {text.campaign}
          </Link>
        </p>
      )}
      {isEditing && <WindowDialog nodeId={nodeId} window={current} onClose={() => setEditing(false)} />}
    </Card>
  )
}

function WindowDetails({ window: { window, nextStart } }: { window: NodeWindow }) {
  const text = useText(windowMessages)
  return (
    <KeyValueList
      items={[
        { name: text.starts, value: <WindowText window={window} /> },
        nextStart !== undefined && { name: text.next, value: <Time at={nextStart} /> },
      ]}
    />
  )
}

type WindowDialogProps = { nodeId: string; window: NodeWindow | undefined; onClose: () => void }

function WindowDialog({ nodeId, window, onClose }: WindowDialogProps) {
  const text = useText(windowMessages)
  const api = useApi()
  const refresh = useRefreshUpdates()
  const [form, setForm] = useState(() => windowFormOf(window?.window))
  const [isSubmitted, setSubmitted] = useState(false)
  const submit = () => {
    setSubmitted(true)
    const data = windowOf(form)
    if ('invalid' in data) return false
    return (async () => {
      await api.updates.putWindow({ params: { nodeId }, body: { data } })
      showSuccess(text.saved)
      onClose()
      await refresh()
    })()
  }
  return (
    <Dialog title={text.window} onClose={onClose}>
      <Form action={text.save} onSubmit={submit} onCancel={onClose}>
        <p>{text.nodeHint}</p>
        <WindowFields form={form} onChange={setForm} isSubmitted={isSubmitted} />
      </Form>
    </Dialog>
  )
}
