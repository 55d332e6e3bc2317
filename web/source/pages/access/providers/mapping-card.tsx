import type { IdentityProvider } from '@millwright/api/identity-providers.ts'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useGroupNames } from '../../../app/api/access-groups.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { CheckField, SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { useRoleChoices } from '../choices.ts'
import { providerMessages } from './messages.ts'
import { type ChangeProvider, isSameMapping, type Mapping } from './provider-form.ts'

type MappingCardProps = { provider: IdentityProvider; onChange: ChangeProvider }

/** `MappingCard` shows and changes which roles the groups of a provider grant. */
export function MappingCard({ provider, onChange }: MappingCardProps) {
  const text = useText(providerMessages)
  const [isAdding, setAdding] = useState(false)
  const [removed, setRemoved] = useState<Mapping>()
  const api = useApi()
  /**
   * Removes a mapping, and adds it again if it is the new one. The page can be outdated, so the change applies to the
   * current mappings. The ETag prevents that a concurrent change is lost.
   */
  const replace = async (mapping: Mapping, { isAdded }: { isAdded: boolean }) => {
    let etag: string | undefined
    const { data } = await api.identity.readIdentityProvider({ params: { id: provider.id } }, ({ headers }) => {
      etag = headers.get('etag') ?? undefined
    })
    const others = data.mappings.filter((each) => !isSameMapping(each, mapping))
    await onChange({ mappings: isAdded ? [...others, mapping] : others }, etag)
    showSuccess(text.saved)
  }
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
        <MappingDialog onAdd={(mapping) => replace(mapping, { isAdded: true })} onClose={() => setAdding(false)} />
      )}
      {removed !== undefined && (
        <ConfirmDialog
          title={text.removeMappingTitle}
          action={text.removeMapping}
          isDangerous
          onConfirm={() => replace(removed, { isAdded: false })}
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
    <PlainTable columns={[text.value, text.role, text.scope, { unseen: text.actions }]}>
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
    </PlainTable>
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
