import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useGroupNames } from '../../../app/api/access-groups.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { usePrincipalChoices, useRoleChoices } from '../choices.ts'
import { accessMessages } from '../messages.ts'

type GrantDialogProps = {
  principal?: string
  /** The role that is chosen when the dialog opens. */
  suggestedRole?: string
  onClose: () => void
}

/** `GrantDialog` assigns a role to a principal. */
export function GrantDialog({ principal, suggestedRole = 'viewer', onClose }: GrantDialogProps) {
  const text = useText(accessMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const principals = usePrincipalChoices()
  const roles = useRoleChoices()
  const groups = useGroupNames()
  const [principalId, setWho] = useState(principal ?? '')
  const [role, setRole] = useState(suggestedRole)
  const [group, setGroup] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const assign = async () => {
    const data = { principal: principalId, role, ...(group !== '' && { accessGroup: group }) }
    await api.authorization.createGrant({ body: { data } })
    await queryClient.invalidateQueries({ queryKey: keyOf('authorization') })
    showSuccess(text.granted)
    onClose()
  }
  const submit = () => {
    setSubmitted(true)
    return principalId === '' ? false : assign()
  }
  return (
    <Dialog title={text.addGrant} onClose={onClose}>
      <Form action={text.assign} onSubmit={submit}>
        {principal === undefined && (
          <SelectField
            label={text.principal}
            error={isSubmitted && principalId === '' ? text.choosePrincipal : undefined}
            isRequired
            value={principalId}
            onChange={setWho}
            choices={[{ value: '', label: '' }, ...principals]}
          />
        )}
        <SelectField label={text.role} value={role} onChange={setRole} choices={roles} />
        <SelectField
          label={text.where}
          value={group}
          onChange={setGroup}
          choices={[{ value: '', label: text.everywhere }, ...[...groups].map(([value, label]) => ({ value, label }))]}
        />
      </Form>
    </Dialog>
  )
}
