import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useInventoryWrite, waitHeaders } from '../../../app/api/inventory-write.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/user-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { CheckField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { identifierLine } from '../../assets/model/identifier-names.ts'
import { identityMessages } from './identity-messages.ts'

type Identifier = { [field: string]: unknown }
type Given = { id: string; identifiers: readonly Identifier[]; onClose: () => void }

/** Makes an asset of some identifiers of this one, and shows it. */
export function SplitDialog({ id, identifiers, onClose }: Given) {
  const text = useText(identityMessages)
  const language = useLanguage()
  const api = useApi()
  const write = useInventoryWrite()
  const navigate = useNavigate()
  const [leaving, setLeaving] = useState<ReadonlySet<Identifier>>(new Set())
  const [name, setName] = useState('')
  const [isWrong, setWrong] = useState(false)
  const isFitting = leaving.size > 0 && leaving.size < identifiers.length
  const toggle = (identifier: Identifier, isLeaving: boolean) => {
    const next = new Set(leaving)
    if (isLeaving) next.add(identifier)
    else next.delete(identifier)
    setLeaving(next)
  }
  const split = async () => {
    const data = { identifiers: [...leaving], ...(name.trim() !== '' && { name: name.trim() }) }
    const splitting = api.inventory.splitAsset({ params: { id }, headers: waitHeaders, body: { data } })
    await write(splitting, text.wasSplit)
    const made = (await splitting).data.detail?.result as { createdAssetId?: string } | undefined
    onClose()
    if (made?.createdAssetId !== undefined) navigate({ to: `/assets/${made.createdAssetId}` })
  }
  const submit = () => {
    setWrong(!isFitting)
    return isFitting && split()
  }
  return (
    <Dialog title={text.splitTitle} onClose={onClose}>
      <Form action={text.splitVerb} onSubmit={submit}>
        <p>{text.splitText}</p>
        <fieldset className="group">
          <legend>{text.leaving}</legend>
          {identifiers.map((identifier) => (
            <CheckField
              key={JSON.stringify(identifier)}
              label={identifierLine(identifier, language)}
              isChecked={leaving.has(identifier)}
              onChange={(isLeaving) => toggle(identifier, isLeaving)}
            />
          ))}
          {isWrong && !isFitting && <p className="field-error">{text.chooseSome}</p>}
        </fieldset>
        <TextField label={text.newName} hint={text.newNameHint} value={name} onChange={setName} maxLength={128} />
      </Form>
    </Dialog>
  )
}
