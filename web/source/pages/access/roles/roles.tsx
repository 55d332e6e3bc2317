import type { Role } from '@millwright/api/authorization.ts'
import type { Permission } from '@millwright/api/permission.ts'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { keyOf } from '../../../app/api/queries.ts'
import type { Language } from '../../../app/language/language.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useCreateDialog } from '../../../app/navigation/create-dialog-state.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { CheckField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { usePermissions } from '../choices.ts'
import { accessMessages } from '../messages.ts'
import { roleTitle } from './role-titles.ts'

/** `Roles` lists built-in and custom roles. */
export function Roles() {
  const text = useText(accessMessages)
  const formats = useFormats()
  const language = useLanguage()
  const [edited, setEdited] = useState<Role>()
  const [isAdding, setAdding] = useCreateDialog()
  const pagedList = usePagedList(['authorization', 'listRoles'], {}, { live: ['authorization.role'] })
  return (
    <>
      <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
        <IxButton onClick={() => setAdding(true)}>{text.addRole}</IxButton>
      </Toolbar>
      <PagedTable
        label={text.roles}
        pagedList={pagedList}
        columns={columnsOf(text, language)}
        idOf={({ name }) => name}
        onOpen={setEdited}
        empty={null}
      />
      {isAdding && <RoleDialog onClose={() => setAdding(false)} />}
      {edited !== undefined && <RoleDialog role={edited} onClose={() => setEdited(undefined)} />}
    </>
  )
}

type Text = (typeof accessMessages)['en']

function columnsOf(text: Text, language: Language): Column<Role>[] {
  return [
    { id: 'name', header: text.role, width: 200, cell: ({ name }) => name },
    {
      id: 'kind',
      header: text.kind,
      width: 130,
      cell: ({ builtIn }) => <StatusChip>{builtIn ? text.builtIn : text.custom}</StatusChip>,
    },
    { id: 'title', header: text.roleTitle, width: 360, cell: (role) => roleTitle(role, language) },
    {
      id: 'permissions',
      header: text.permissions,
      width: 130,
      isNumber: true,
      cell: ({ permissions }) => permissions.length,
    },
  ]
}

function RoleDialog({ role, onClose }: { role?: Role; onClose: () => void }) {
  const text = useText(accessMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [name, setName] = useState(role?.name ?? '')
  const [title, setTitle] = useState(role?.title ?? '')
  const [chosen, setChosen] = useState<readonly Permission[]>(role?.permissions ?? [])
  const [isSubmitted, setSubmitted] = useState(false)
  const isFixed = role?.builtIn === true
  const language = useLanguage()
  const renew = async (message: string) => {
    await queryClient.invalidateQueries({ queryKey: keyOf('authorization') })
    showSuccess(message)
    onClose()
  }
  const save = async () => {
    const data = { title: title.trim(), permissions: [...chosen] }
    if (role === undefined) await api.authorization.createRole({ body: { data: { name: name.trim(), ...data } } })
    else await api.authorization.updateRole({ params: { name: role.name }, body: { data } })
    await renew(text.saved)
  }
  const remove = async (removed: string) => {
    await api.authorization.deleteRole({ params: { name: removed } })
    await renew(text.removed)
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' ? false : save()
  }
  const permissions = <PermissionFields chosen={chosen} isFixed={isFixed} onChange={setChosen} />
  return (
    <Dialog title={role?.name ?? text.addRole} onClose={onClose} isWide>
      {isFixed ? (
        <>
          <p className="card-lead">{roleTitle(role, language)}</p>
          {permissions}
        </>
      ) : (
        <Form
          action={text.save}
          onSubmit={submit}
          extraActions={
            role !== undefined && (
              <ConfirmButton
                action={text.remove}
                title={text.removeTitle(role.name)}
                onConfirm={() => remove(role.name)}
              >
                {text.removeRole}
              </ConfirmButton>
            )
          }
        >
          {role === undefined && (
            <TextField
              label={text.roleName}
              hint={text.roleNameHint}
              error={isSubmitted && name.trim() === '' ? text.required : undefined}
              isRequired
              value={name}
              onChange={setName}
            />
          )}
          <TextField label={text.roleTitle} value={title} onChange={setTitle} />
          {permissions}
        </Form>
      )}
    </Dialog>
  )
}

type PermissionFieldsProps = {
  chosen: readonly Permission[]
  isFixed: boolean
  onChange: (chosen: readonly Permission[]) => void
}

function PermissionFields({ chosen, isFixed, onChange }: PermissionFieldsProps) {
  const text = useText(accessMessages)
  const permissions = usePermissions()
  const toggle = (name: Permission, isChosen: boolean) =>
    onChange(isChosen ? [...chosen, name] : chosen.filter((each) => each !== name))
  return (
    <fieldset className="group">
      <legend>{text.permissions}</legend>
      {permissions.map(({ name, title, scope }) => (
        <CheckField
          key={name}
          label={
            <>
              {title}{' '}
              <span className="quiet">
                <code>{name}</code> · {scope === 'global' ? text.scopeGlobal : text.scopeGroup}
              </span>
            </>
          }
          isChecked={chosen.includes(name)}
          isDisabled={isFixed}
          onChange={(isChosen) => toggle(name, isChosen)}
        />
      ))}
    </fieldset>
  )
}
