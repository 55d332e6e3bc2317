import type { IdentityProvider } from '@millwright/api/identity-providers.ts'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useGroupNames } from '../../../app/api/access-groups.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { CheckField, SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { useRoleChoices } from '../choices.ts'
import { providerMessages } from './messages.ts'
import { isSameMapping, type Mapping, type ProviderChange } from './provider-form.ts'

type MappingCardProps = { provider: IdentityProvider; onChange: (data: ProviderChange) => Promise<void> }

/** `MappingCard` shows and changes which roles the groups of a provider grant. */
export function MappingCard({ provider, onChange }: MappingCardProps) {
  const text = useText(providerMessages)
  const [isAdding, setAdding] = useState(false)
  const [removed, setRemoved] = useState<Mapping>()
  const replace = async (mappings: Mapping[]) => {
    await onChange({ mappings })
    showSuccess(text.saved)
  }
  const others = (mapping: Mapping) => provider.mappings.filter((each) => !isSameMapping(each, mapping))
  return (
    <Card
      title={text.mappings}
      size="wide"
      actions={<IxButton onClick={() => setAdding(true)}>{text.addMapping}</IxButton>}
    >
      <p className="quiet card-lead">{text.mappingsText}</p>
      {provider.mappings.length === 0 ? (
        <p className="card-lead">{text.noMappings}</p>
      ) : (
        <MappingTable mappings={provider.mappings} onRemove={setRemoved} />
      )}
      <AdministrationSwitch provider={provider} onChange={onChange} />
      {isAdding && (
        <MappingDialog onAdd={(mapping) => replace([...others(mapping), mapping])} onClose={() => setAdding(false)} />
      )}
      {removed !== undefined && (
        <ConfirmDialog
          title={text.removeMappingTitle}
          action={text.removeMapping}
          isDangerous
          onConfirm={() => replace(others(removed))}
          onClose={() => setRemoved(undefined)}
        >
          <p>{text.removeMappingText(removed.value, removed.role)}</p>
        </ConfirmDialog>
      )}
    </Card>
  )
}

type MappingTableProps = { mappings: readonly Mapping[]; onRemove: (mapping: Mapping) => void }

function MappingTable({ mappings, onRemove }: MappingTableProps) {
  const text = useText(providerMessages)
  const groups = useGroupNames()
  return (
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{text.value}</th>
          <th scope="col">{text.role}</th>
          <th scope="col">{text.scope}</th>
          <th scope="col">
            <span className="unseen">{text.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {mappings.map((mapping) => {
          const { value, role, accessGroup = null } = mapping
          return (
            <tr key={`${value} ${role} ${accessGroup}`}>
              <td>
                <code>{value}</code>
              </td>
              <td>{role}</td>
              <td>{accessGroup === null ? text.everywhere : (groups.get(accessGroup) ?? accessGroup)}</td>
              <td>
                <button
                  type="button"
                  className="link-button"
                  aria-label={text.removeMappingOf(value, role)}
                  onClick={() => onRemove(mapping)}
                >
                  {text.removeMapping}
                </button>
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

/** `AdministrationSwitch` allows after a confirmation that groups grant roles that can manage access. */
function AdministrationSwitch({ provider, onChange }: MappingCardProps) {
  const text = useText(providerMessages)
  const [isAsking, setAsking] = useState(false)
  const toggle = (isAllowed: boolean) => {
    if (isAllowed) return setAsking(true)
    onChange({ mayGrantAdministrator: false }).catch((error: Error) => showError(error.message))
  }
  return (
    <>
      <CheckField
        label={text.mayAdministrate}
        hint={text.mayAdministrateHint}
        isChecked={provider.mayGrantAdministrator}
        onChange={toggle}
        isSwitch
      />
      {isAsking && (
        <ConfirmDialog
          title={text.mayAdministrateTitle(provider.title)}
          action={text.allow}
          isDangerous
          onConfirm={() => onChange({ mayGrantAdministrator: true })}
          onClose={() => setAsking(false)}
        >
          <p>{text.mayAdministrateText}</p>
        </ConfirmDialog>
      )}
    </>
  )
}

type MappingDialogProps = { onAdd: (mapping: Mapping) => Promise<void>; onClose: () => void }

function MappingDialog({ onAdd, onClose }: MappingDialogProps) {
  const text = useText(providerMessages)
  const roles = useRoleChoices()
  const groups = useGroupNames()
  const [value, setValue] = useState('')
  const [role, setRole] = useState('viewer')
  const [group, setGroup] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const add = async () => {
    await onAdd({ value: value.trim(), role, accessGroup: group === '' ? null : group })
    onClose()
  }
  const submit = () => {
    setSubmitted(true)
    return value.trim() === '' ? false : add()
  }
  return (
    <Dialog title={text.addMapping} onClose={onClose}>
      <Form action={text.addMapping} onSubmit={submit}>
        <TextField
          label={text.value}
          hint={text.valueHint}
          error={isSubmitted && value.trim() === '' ? text.required : undefined}
          maxLength={512}
          isRequired
          value={value}
          onChange={setValue}
        />
        <SelectField label={text.role} value={role} onChange={setRole} choices={roles} />
        <SelectField
          label={text.scope}
          value={group}
          onChange={setGroup}
          choices={[{ value: '', label: text.everywhere }, ...[...groups].map(([id, label]) => ({ value: id, label }))]}
        />
      </Form>
    </Dialog>
  )
}
