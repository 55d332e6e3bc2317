import { IxButton } from '@siemens/ix-react'
import type { Output } from '../../../app/api/client.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { download } from '../../../components/actions/download.ts'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { accessMessages } from '../messages.ts'

export type CreatedServiceAccount = Output<'identity', 'createServerUser'>['data']

/** `SecretDialog` shows the secret of a new service account. The secret is shown only once. */
export function SecretDialog({ created, onClose }: { created: CreatedServiceAccount; onClose: () => void }) {
  const text = useText(accessMessages)
  const { clientId, clientSecret, tokenUrl, name } = created
  const save = () => {
    const file = { name, clientId, clientSecret, tokenUrl }
    download(new Blob([JSON.stringify(file, null, 2)], { type: 'application/json' }), 'millwright-credentials.json')
  }
  return (
    <Dialog
      title={text.secretTitle}
      onClose={onClose}
      isWide
      actions={
        <>
          <IxButton variant="secondary" onClick={save}>
            {text.download}
          </IxButton>
          <IxButton onClick={onClose}>{text.done}</IxButton>
        </>
      }
    >
      <p className="card-lead">{text.secretDetail}</p>
      <KeyValueList
        items={[
          { name: text.clientId, value: <CopyableValue value={clientId} label={text.clientId} /> },
          { name: text.secret, value: <CopyableValue value={clientSecret} label={text.secret} /> },
          { name: text.tokenUrl, value: <CopyableValue value={tokenUrl} label={text.tokenUrl} /> },
        ]}
      />
    </Dialog>
  )
}

function CopyableValue({ value, label }: { value: string; label: string }) {
  return (
    <span className="with-copy">
      <code>{value}</code>
      <CopyButton value={value} label={label} />
    </span>
  )
}
