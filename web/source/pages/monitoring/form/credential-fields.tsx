import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { CheckField, SelectField } from '../../../components/forms/fields.tsx'
import { formMessages } from './messages.ts'
import type { MonitoringForm } from './monitoring-form.ts'

type CredentialFieldsProps = { form: MonitoringForm; onChange: (changed: Partial<MonitoringForm>) => void }

/** `CredentialFields` selects the monitoring set whose credentials are used. */
export function CredentialFields({ form, onChange }: CredentialFieldsProps) {
  const text = useText(formMessages)
  const query = useOperationQuery()
  const canRead = usePermission('glb_credential_read')
  const canWrite = usePermission('glb_credential_write')
  const sets = useQuery({
    ...query(['credentials', 'listInstancesTemplates'], { query: { limit: 100 } }, { live: ['credentials'] }),
    enabled: canRead,
  })
  const { templateId, assignWorking } = form
  const offered = sets.data?.data ?? []
  const isListed = templateId === '' || offered.some(({ id }) => id === templateId)
  if (!canRead && templateId === '') return null
  return (
    <fieldset className="group">
      <legend>{text.credentials}</legend>
      <SelectField
        label={text.set}
        hint={templateId === '' ? text.noSetHint : text.setHint}
        value={templateId}
        onChange={(chosen) => onChange({ templateId: chosen })}
        choices={[
          { value: '', label: text.noSet },
          ...offered.map(({ id, name }) => ({ value: id, label: name })),
          ...(isListed ? [] : [{ value: templateId, label: templateId }]),
        ]}
      />
      {templateId !== '' && (
        <CheckField
          label={text.assign}
          hint={text.assignHint}
          isChecked={assignWorking}
          isDisabled={!canWrite && !assignWorking}
          onChange={(isChecked) => onChange({ assignWorking: isChecked })}
        />
      )}
    </fieldset>
  )
}
