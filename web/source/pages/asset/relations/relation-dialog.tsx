import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { useInventoryWrite } from '../../../app/api/inventory-write.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { AssetPicker, type PickedAsset } from '../../../components/forms/asset-picker.tsx'
import { CheckField, Field, SelectField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { assetMessages } from '../messages.ts'

/** Common relation types. They are suggested in addition to the relation types that the tenant already uses. */
const commonPredicates = [
  'is_module_of',
  'is_connected_to',
  'is_part_of',
  'is_controlled_by',
  'is_installed_on',
  'is_powered_by',
]

type FieldErrors = { predicate?: string; other?: string }
type RelationDialogProps = { id: string; name: string; onClose: () => void }

export function RelationDialog({ id, name, onClose }: RelationDialogProps) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const [predicate, setPredicate] = useState('')
  const [direction, setDirection] = useState<'out' | 'in'>('out')
  const [other, setOther] = useState<PickedAsset>()
  const [isBoth, setBoth] = useState(false)
  const [fieldErrors, setFieldErrors] = useState<FieldErrors>({})
  const submit = () => {
    const missing: FieldErrors = {
      ...(predicate.trim() === '' && { predicate: text.needPredicate }),
      ...(other === undefined && { other: text.chooseAsset }),
    }
    setFieldErrors(missing)
    if (other === undefined || Object.keys(missing).length > 0) return false
    const [from, to] = direction === 'out' ? [id, other.id] : [other.id, id]
    const data = {
      subject: { type: 'asset' as const, id: from },
      predicate: predicate.trim(),
      object: { type: 'asset' as const, id: to },
      ...(isBoth && { isBidirectional: true }),
    }
    return write(api.inventory.createRelation({ body: { data } }), text.relationAdded).then(onClose)
  }
  return (
    <Dialog title={text.addRelationTitle} onClose={onClose}>
      <Form action={text.addVerb} onSubmit={submit}>
        <SelectField
          label={text.direction}
          value={direction}
          onChange={setDirection}
          choices={[
            { value: 'out', label: text.fromThis(name) },
            { value: 'in', label: text.toThis(name) },
          ]}
        />
        <PredicateField value={predicate} onChange={setPredicate} error={fieldErrors.predicate} />
        <AssetPicker label={text.other} picked={other} onPick={setOther} except={id} error={fieldErrors.other} />
        <CheckField label={text.bothDirections} isChecked={isBoth} onChange={setBoth} />
      </Form>
    </Dialog>
  )
}

type PredicateFieldProps = { value: string; onChange: (value: string) => void; error: string | undefined }

function PredicateField({ value, onChange, error }: PredicateFieldProps) {
  const text = useText(assetMessages)
  const query = useOperationQuery()
  const listId = useId()
  const canList = usePermission('glb_inventory_read_relation_data')
  const { data } = useQuery({ ...query(['inventory', 'listPredicates'], {}), enabled: canList })
  const offered = [...new Set([...(data?.data.map(({ predicate }) => predicate) ?? []), ...commonPredicates])]
  return (
    <Field label={text.predicate} hint={text.predicateHint} error={error} isRequired>
      {({ id, describedBy, isInvalid }) => (
        <>
          <input
            id={id}
            className="input code"
            list={listId}
            value={value}
            maxLength={256}
            autoComplete="off"
            spellCheck={false}
            aria-invalid={isInvalid}
            aria-describedby={describedBy}
            onChange={({ target }) => onChange(target.value)}
          />
          <datalist id={listId}>
            {offered.map((predicate) => (
              <option key={predicate} value={predicate} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}
