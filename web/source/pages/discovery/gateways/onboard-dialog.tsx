import type { OnboardedGateway } from '@millwright/api/onboarding.ts'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccessGroups } from '../../../app/api/access-groups.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { ConfigFile } from './config-file.tsx'
import { ConnectionState } from './connection-state.tsx'
import { gatewayMessages } from './gateway-messages.ts'
import { InstallStep } from './install-step.tsx'

/**
 * `OnboardDialog` guides the user through the steps to add a gateway: create it, download its configuration file, install
 * and start it on its machine, and wait until it is connected.
 */
export function OnboardDialog({ onClose }: { onClose: () => void }) {
  const text = useText(gatewayMessages)
  const [gateway, setGateway] = useState<OnboardedGateway>()
  return (
    <Dialog title={text.title} onClose={onClose} isWide>
      {gateway === undefined ? <NameForm onCreated={setGateway} /> : <Steps gateway={gateway} />}
    </Dialog>
  )
}

function NameForm({ onCreated }: { onCreated: (gateway: OnboardedGateway) => void }) {
  const text = useText(gatewayMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [name, setName] = useState('')
  const [picked, setPicked] = useState<string>()
  const [isSubmitted, setSubmitted] = useState(false)
  const groups = useAccessGroups()
  const group = picked ?? (groups.find(({ name: label }) => label === defaultAccessGroup) ?? groups[0])?.id
  const create = async () => {
    const body = { data: { name: name.trim(), ...(group !== undefined && { access_group: group }) } }
    const { data } = await api.onboarding.createGateway({ body })
    await queryClient.invalidateQueries({ queryKey: keyOf('onboarding') })
    onCreated(data)
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' ? false : create()
  }
  const choices = groups.map(({ id, name: label }) => ({ value: id, label }))
  return (
    <Form action={text.create} onSubmit={submit}>
      <p className="card-lead">{text.intro}</p>
      <TextField
        label={text.name}
        hint={text.nameHint}
        error={isSubmitted && name.trim() === '' ? text.required : undefined}
        isRequired
        value={name}
        onChange={setName}
      />
      {choices.length > 1 && (
        <SelectField
          label={text.group}
          hint={text.groupHint}
          value={group ?? ''}
          onChange={setPicked}
          choices={choices}
        />
      )}
    </Form>
  )
}

function Steps({ gateway: { id } }: { gateway: OnboardedGateway }) {
  const text = useText(gatewayMessages)
  return (
    <ol className="steps">
      <li>
        <p>{text.stepFile}</p>
        <ConfigFile gatewayId={id} />
      </li>
      <li>
        <InstallStep />
      </li>
      <li>
        <p>{text.stepWait}</p>
        <ConnectionState gatewayId={id} />
      </li>
    </ol>
  )
}
