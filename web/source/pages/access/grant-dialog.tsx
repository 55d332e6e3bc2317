import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useGroupNames } from '../../app/access-groups.ts'
import { useText } from '../../app/language-context.tsx'
import { keyOf } from '../../app/queries.ts'
import { useApi } from '../../app/visit.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { SelectField } from '../../components/fields.tsx'
import { Form } from '../../components/form.tsx'
import { toldDone } from '../../components/toast.ts'
import { usePrincipalChoices, useRoleChoices } from './choices.ts'
import { accessMessages } from './messages.ts'

/** Gives a role to somebody. */
export function GrantDialog({ principal, onClose }: { principal?: string; onClose: () => void }) {
  const text = useText(accessMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const principals = usePrincipalChoices()
  const roles = useRoleChoices()
  const groups = useGroupNames()
  const [who, setWho] = useState(principal ?? '')
  const [role, setRole] = useState('viewer')
  const [group, setGroup] = useState('')
  const [isTold, setTold] = useState(false)
  const give = async () => {
    const data = { principal: who, role, ...(group !== '' && { accessGroup: group }) }
    await api.authorization.createGrant({ body: { data } })
    await queryClient.invalidateQueries({ queryKey: keyOf('authorization') })
    toldDone(text.granted)
    onClose()
  }
  const submit = () => {
    setTold(true)
    return who === '' ? false : give()
  }
  return (
    <Dialog title={text.addGrant} onClose={onClose}>
      <Form action={text.give} onSubmit={submit}>
        {principal === undefined && (
          <SelectField
            label={text.who}
            error={isTold && who === '' ? text.chooseWho : undefined}
            isRequired
            value={who}
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
