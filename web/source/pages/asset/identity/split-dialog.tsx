import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useInventoryWrite, waitHeaders } from '../../../app/api/inventory-write.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { CheckField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { identifierLine } from '../../assets/model/identifier-names.ts'
import { identityMessages } from './identity-messages.ts'

type Identifier = { [field: string]: unknown }
type SplitDialogProps = { id: string; identifiers: readonly Identifier[]; onClose: () => void }

/** `SplitDialog` moves some identifiers of an asset to a new asset, and opens the page of the new asset. */
export function SplitDialog({ id, identifiers, onClose }: SplitDialogProps) {
  const text = useText(identityMessages)
  const language = useLanguage()
  const api = useApi()
  const write = useInventoryWrite()
  const navigate = useNavigate()
  const [moving, setMoving] = useState<ReadonlySet<Identifier>>(new Set())
  const [name, setName] = useState('')
  const [isWrong, setWrong] = useState(false)
  const isValid = moving.size > 0 && moving.size < identifiers.length
  const toggle = (identifier: Identifier, isMoving: boolean) => {
    const next = new Set(moving)
    if (isMoving) next.add(identifier)
    else next.delete(identifier)
    setMoving(next)
  }
  const split = async () => {
    const data = { identifiers: [...moving], ...(name.trim() !== '' && { name: name.trim() }) }
    const splitting = api.inventory.splitAsset({ params: { id }, headers: waitHeaders, body: { data } })
    await write(splitting, text.wasSplit)
    const result = (await splitting).data.detail?.result as { createdAssetId?: string } | undefined
    onClose()
    if (result?.createdAssetId !== undefined) navigate({ to: `/assets/${result.createdAssetId}` })
  }
  const submit = () => {
    setWrong(!isValid)
    return isValid && split()
  }
  return (
    <Dialog title={text.splitTitle} onClose={onClose}>
      <Form action={text.splitVerb} onSubmit={submit}>
        <p>{text.splitText}</p>
        <fieldset className="group">
          <legend>{text.moving}</legend>
          {identifiers.map((identifier) => (
            <CheckField
              key={JSON.stringify(identifier)}
              label={identifierLine(identifier, language)}
              isChecked={moving.has(identifier)}
              onChange={(isMoving) => toggle(identifier, isMoving)}
            />
          ))}
          {isWrong && !isValid && <p className="field-error">{text.chooseSome}</p>}
        </fieldset>
        <TextField label={text.newName} hint={text.newNameHint} value={name} onChange={setName} maxLength={128} />
      </Form>
    </Dialog>
  )
}
