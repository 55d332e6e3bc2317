import { IxButton } from '@siemens/ix-react'
import { useText } from '../../../app/language/language-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { detailMessages } from './messages.ts'

/** The computation of the signature, which is the same in all languages. */
const signature = `key      = base64-decode(secret without "whsec_")
content  = webhook-id + "." + webhook-timestamp + "." + body
expected = "v1," + base64(HMAC-SHA256(key, content))`

type SecretDialogProps = { secret: string; onClose: () => void }

/** `SecretDialog` shows the new signing secret of a webhook, and how a receiver checks signatures. */
export function SecretDialog({ secret, onClose }: SecretDialogProps) {
  const text = useText(detailMessages)
  return (
    <Dialog
      title={text.secretTitle}
      onClose={onClose}
      isWide
      actions={<IxButton onClick={onClose}>{text.secretStored}</IxButton>}
    >
      <p className="card-lead">{text.secretOnce}</p>
      <p className="command">
        <code>{secret}</code>
        <CopyButton value={secret} label={text.secret} />
      </p>
      <h3 className="part-title">{text.signatureTitle}</h3>
      <p>{text.signatureText}</p>
      <pre className="request-text">{signature}</pre>
      <p>{text.signatureRules}</p>
    </Dialog>
  )
}
