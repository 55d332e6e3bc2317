import { IxButton } from '@siemens/ix-react'
import type { Output } from '../../../app/api/client.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { download } from '../../../components/actions/download.ts'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { Facts } from '../../../components/values/property-list.tsx'
import { accessMessages } from '../messages.ts'

export type Made = Output<'identity', 'createServerUser'>['data']

/** The one time that a secret is to be seen. */
export function SecretDialog({ made, onClose }: { made: Made; onClose: () => void }) {
  const text = useText(accessMessages)
  const { clientId, clientSecret, tokenUrl, name } = made
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
      <Facts
        facts={[
          { name: text.clientId, value: <Copied value={clientId} what={text.clientId} /> },
          { name: text.secret, value: <Copied value={clientSecret} what={text.secret} /> },
          { name: text.tokenUrl, value: <Copied value={tokenUrl} what={text.tokenUrl} /> },
        ]}
      />
    </Dialog>
  )
}

function Copied({ value, what }: { value: string; what: string }) {
  return (
    <span className="with-copy">
      <code>{value}</code>
      <CopyButton value={value} what={what} />
    </span>
  )
}
