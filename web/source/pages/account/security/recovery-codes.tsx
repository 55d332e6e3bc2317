import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, useAppContext } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { download } from '../../../components/actions/download.ts'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { CheckField } from '../../../components/forms/fields.tsx'
import { Card } from '../../../components/page/card.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { securityMessages } from './messages.ts'

/** With this number of codes or fewer, the card recommends new codes. */
const fewCodes = 3

/** `RecoveryCodeCard` shows the number of unused recovery codes, and creates new codes. */
export function RecoveryCodeCard({ count, hasFactor }: { count: number; hasFactor: boolean }) {
  const text = useText(securityMessages)
  const formats = useFormats()
  const api = useApi()
  const queryClient = useQueryClient()
  const [codes, setCodes] = useState<readonly string[]>([])
  const create = async () => {
    const { data } = await api.identity.createRecoveryCodes({})
    setCodes(data.recoveryCodes)
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'readAccountSecurity') })
  }
  return (
    <Card
      title={text.recovery}
      actions={
        hasFactor && (
          <ConfirmButton action={text.createCodes} title={text.createTitle} onConfirm={create}>
            {text.createText}
          </ConfirmButton>
        )
      }
    >
      <p className="quiet card-lead">{text.recoveryText}</p>
      {hasFactor ? (
        <p className="chips">
          <StatusChip tone={count > fewCodes ? 'good' : 'warning'}>
            {text.recoveryLeft(count, formats.number(count))}
          </StatusChip>
          {count <= fewCodes && text.recoveryFew}
        </p>
      ) : (
        <p>{text.recoveryNone}</p>
      )}
      {codes.length > 0 && <RecoveryCodeDialog codes={codes} onClose={() => setCodes([])} />}
    </Card>
  )
}

/** `RecoveryCodeDialog` shows new recovery codes. They are shown only once, so the user confirms that they are saved. */
export function RecoveryCodeDialog({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const text = useText(securityMessages)
  const { user } = useAppContext()
  const [isStored, setStored] = useState(false)
  const lines = codes.join('\n')
  const save = () => {
    const file = `Millwright ${location.origin}\n${text.codesFile}: ${user.preferred_username}\n\n${lines}\n`
    download(new Blob([file], { type: 'text/plain' }), 'millwright-recovery-codes.txt')
  }
  const close = () => {
    if (isStored) onClose()
  }
  return (
    <Dialog
      title={text.codesTitle}
      onClose={close}
      actions={
        <>
          <IxButton variant="secondary" onClick={save}>
            {text.download}
          </IxButton>
          <IxButton disabled={!isStored} onClick={close}>
            {text.done}
          </IxButton>
        </>
      }
    >
      <div className="enrolment">
        <p>{text.codesText}</p>
        <ul className="recovery-codes">
          {codes.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ul>
        <p className="with-copy">
          {text.copyAll}
          <CopyButton value={lines} label={text.copyAll} />
        </p>
        <CheckField label={text.codesStored} isChecked={isStored} onChange={setStored} />
      </div>
    </Dialog>
  )
}
