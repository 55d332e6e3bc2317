import { type TrustAnchor, updateLimits } from '@millwright/api/updates.ts'
import { iconShieldCheck } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { CheckField, TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { updateEvents, useRefreshUpdates } from '../update-data.ts'
import { trustMessages } from './messages.ts'
import '../updates.css'

/** `TrustView` lists the trust anchors of the tenant, and allows or refuses unsigned artefacts. */
export function TrustView() {
  const text = useText(trustMessages)
  const query = useOperationQuery()
  const canManage = usePermission('glb_access_manage')
  const [isAdding, setAdding] = useState(false)
  const anchors = useQuery(query(['updates', 'listTrustAnchors'], { query: { limit: 100 } }, updateEvents))
  return (
    <div className="cards cards-two">
      <Card
        title={text.anchors}
        size="wide"
        actions={canManage && <IxButton onClick={() => setAdding(true)}>{text.add}</IxButton>}
      >
        <p className="card-lead">{text.anchorsHint}</p>
        <QueryState query={anchors}>
          {({ data }) =>
            data.length === 0 ? (
              <EmptyState icon={iconShieldCheck} title={text.none}>
                <p>{canManage ? text.noneHint : text.noneReader}</p>
              </EmptyState>
            ) : (
              <ul className="trust-anchors">
                {data.map((anchor) => (
                  <li key={anchor.id}>
                    <Anchor anchor={anchor} canManage={canManage} />
                  </li>
                ))}
              </ul>
            )
          }
        </QueryState>
      </Card>
      <UnsignedCard canManage={canManage} />
      {isAdding && <AnchorDialog onClose={() => setAdding(false)} />}
    </div>
  )
}

function Anchor({ anchor, canManage }: { anchor: TrustAnchor; canManage: boolean }) {
  const text = useText(trustMessages)
  const api = useApi()
  const refresh = useRefreshUpdates()
  const isExpired = anchor.notAfter !== undefined && Date.parse(anchor.notAfter) < Date.now()
  const remove = async () => {
    await api.updates.deleteTrustAnchor({ params: { id: anchor.id } })
    showSuccess(text.deleted)
    await refresh()
  }
  return (
    <>
      <div className="card-head">
        <h3>{anchor.name}</h3>
        {canManage && (
          <ConfirmButton action={text.delete} title={text.deleteTitle(anchor.name)} onConfirm={remove} isLink>
            {text.deleteText}
          </ConfirmButton>
        )}
      </div>
      <KeyValueList
        items={[
          { name: text.format, value: text[anchor.format] },
          { name: text.subject, value: anchor.subject },
          { name: text.fingerprint, value: <code>{anchor.fingerprint}</code> },
          anchor.notAfter !== undefined && {
            name: text.expires,
            value: (
              <>
                <Time at={anchor.notAfter} isDate /> {isExpired && <StatusChip tone="bad">{text.expired}</StatusChip>}
              </>
            ),
          },
          { name: text.createdBy, value: anchor.createdBy.name },
          { name: text.created, value: <Time at={anchor.createdTimestamp} /> },
        ]}
      />
    </>
  )
}

function AnchorDialog({ onClose }: { onClose: () => void }) {
  const text = useText(trustMessages)
  const api = useApi()
  const refresh = useRefreshUpdates()
  const input = useRef<HTMLInputElement>(null)
  const [name, setName] = useState('')
  const [publicKey, setPublicKey] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const errorOf = (value: string) => (isSubmitted && value.trim() === '' ? text.required : undefined)
  const read = async (file: File | undefined) => {
    if (file !== undefined) setPublicKey((await file.slice(0, updateLimits.trustAnchorCharacters).text()).trim())
  }
  const save = async () => {
    await api.updates.createTrustAnchor({ body: { data: { name: name.trim(), publicKey: publicKey.trim() } } })
    showSuccess(text.added)
    onClose()
    await refresh()
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' || publicKey.trim() === '' ? false : save()
  }
  return (
    <Dialog title={text.add} onClose={onClose}>
      <Form action={text.addVerb} onSubmit={submit} onCancel={onClose}>
        <TextField
          label={text.name}
          hint={text.nameHint}
          isRequired
          error={errorOf(name)}
          maxLength={128}
          value={name}
          onChange={setName}
        />
        <TextAreaField
          label={text.publicKey}
          hint={text.publicKeyHint}
          isRequired
          error={errorOf(publicKey)}
          rows={6}
          isCode
          maxLength={updateLimits.trustAnchorCharacters}
          value={publicKey}
          onChange={setPublicKey}
        />
        <div>
          <IxButton variant="secondary" type="button" onClick={() => input.current?.click()}>
            {text.chooseFile}
          </IxButton>
          <input
            ref={input}
            type="file"
            hidden
            accept=".pem,.crt,.cer,.pub"
            onChange={({ target }) => {
              read(target.files?.[0]).catch((error: Error) => showError(error.message))
            }}
          />
        </div>
      </Form>
    </Dialog>
  )
}

/** `UnsignedCard` allows or refuses artefacts without a trusted signature. */
function UnsignedCard({ canManage }: { canManage: boolean }) {
  const text = useText(trustMessages)
  const api = useApi()
  const query = useOperationQuery()
  const refresh = useRefreshUpdates()
  const [isAsking, setAsking] = useState(false)
  const settings = useQuery(query(['updates', 'readSettings'], {}, updateEvents))
  const change = async (allowsUnsigned: boolean) => {
    await api.updates.putSettings({ body: { data: { allowsUnsigned } } })
    showSuccess(allowsUnsigned ? text.nowAllowed : text.nowRefused)
    await refresh()
  }
  const toggle = (allows: boolean) => {
    if (allows) return setAsking(true)
    change(false).catch((error: Error) => showError(error.message))
  }
  return (
    <Card title={text.unsigned} size="wide">
      <p className="card-lead">{text.unsignedText}</p>
      <QueryState query={settings}>
        {({ data: { allowsUnsigned } }) => (
          <>
            {allowsUnsigned && (
              <p className="remark" data-tone="bad">
                {text.allowedWarning}
              </p>
            )}
            <CheckField
              label={text.allow}
              isChecked={allowsUnsigned}
              onChange={toggle}
              isDisabled={!canManage}
              isSwitch
            />
          </>
        )}
      </QueryState>
      <p className="field-hint">{text.localFile}</p>
      {isAsking && <AllowDialog onConfirm={() => change(true)} onClose={() => setAsking(false)} />}
    </Card>
  )
}

function AllowDialog({ onConfirm, onClose }: { onConfirm: () => Promise<void>; onClose: () => void }) {
  const text = useText(trustMessages)
  const [isKnown, setKnown] = useState(false)
  return (
    <ConfirmDialog
      title={text.allowTitle}
      action={text.allow}
      isDangerous
      isDisabled={!isKnown}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>{text.allowText}</p>
      <CheckField label={text.allowConfirm} isChecked={isKnown} onChange={setKnown} />
    </ConfirmDialog>
  )
}
