import type { InstancesTemplate } from '@millwright/api/credentials-shapes.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { credentialMessages } from '../messages.ts'

type MonitoringSetDialogProps = { template: InstancesTemplate; canWrite: boolean; onClose: () => void }

/** `MonitoringSetDialog` shows, adds and removes the credentials of a monitoring set. */
export function MonitoringSetDialog({
  template: { id, name, description },
  canWrite,
  onClose,
}: MonitoringSetDialogProps) {
  const text = useText(credentialMessages)
  const api = useApi()
  const query = useOperationQuery()
  const queryClient = useQueryClient()
  const [failure, setFailure] = useState<unknown>()
  const params = { instancesTemplateId: id }
  const input = { params, query: { limit: 100 } }
  const mapped = useQuery(query(['credentials', 'listTemplateInstances'], input, { live: ['credentials'] }))
  const renew = () => queryClient.invalidateQueries({ queryKey: keyOf('credentials') })
  const remove = async () => {
    await api.credentials.deleteInstancesTemplate({ params })
    await renew()
    showSuccess(text.removed)
    onClose()
  }
  const unmap = (instanceId: string) => {
    setFailure(undefined)
    api.credentials.unmapInstance({ params: { ...params, instanceId } }).then(renew, setFailure)
  }
  return (
    <Dialog
      title={name}
      onClose={onClose}
      actions={
        canWrite && (
          <ConfirmButton action={text.remove} title={text.removeTitle(name)} onConfirm={remove}>
            {text.removeTemplate}
          </ConfirmButton>
        )
      }
    >
      {description !== undefined && <p className="card-lead quiet">{description}</p>}
      <QueryState query={mapped}>
        {({ data }) => (
          <>
            <ul className="link-lines">
              {data.map((instance) => (
                <li key={instance.id}>
                  <Link className="link-name" to={`/credentials/${instance.id}`}>
                    {instance.name}
                  </Link>
                  {canWrite && (
                    <button type="button" className="link-button" onClick={() => unmap(instance.id)}>
                      {text.unmap}
                    </button>
                  )}
                </li>
              ))}
            </ul>
            {canWrite && (
              <AddCredentialForm templateId={id} mapped={data.map((instance) => instance.id)} onMapped={renew} />
            )}
          </>
        )}
      </QueryState>
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </Dialog>
  )
}

type AddCredentialFormProps = { templateId: string; mapped: readonly string[]; onMapped: () => Promise<unknown> }

function AddCredentialForm({ templateId, mapped, onMapped }: AddCredentialFormProps) {
  const text = useText(credentialMessages)
  const api = useApi()
  const query = useOperationQuery()
  const instances = useQuery(query(['credentials', 'listInstances'], { query: { limit: 100, assigned: false } }))
  const offered = instances.data?.data.filter(({ id }) => !mapped.includes(id)) ?? []
  const [chosen, setChosen] = useState('')
  const instanceId = offered.find(({ id }) => id === chosen)?.id ?? offered[0]?.id
  if (instanceId === undefined) return null
  const map = async () => {
    await api.credentials.mapInstance({ params: { instancesTemplateId: templateId, instanceId } })
    await onMapped()
  }
  return (
    <Form action={text.map} onSubmit={map}>
      <SelectField
        label={text.mapHint}
        value={instanceId}
        onChange={setChosen}
        choices={offered.map(({ id, name }) => ({ value: id, label: name }))}
      />
    </Form>
  )
}
