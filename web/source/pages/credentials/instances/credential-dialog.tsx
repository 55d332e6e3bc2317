import type { CredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField, TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { credentialMessages } from '../messages.ts'
import { ValueFields } from './value-fields.tsx'
import { changesOf, errorsIn, fieldsOf, formValuesOf, type JsonObject, rangesIn } from './value-form.ts'

type CredentialDialogProps = { instance: CredentialInstance; onClose: () => unknown }

/** `CredentialDialog` edits stored credentials. */
export function CredentialDialog({ instance, onClose }: CredentialDialogProps) {
  const query = useOperationQuery()
  const schema = useQuery(query(['credentials', 'getSchema'], { params: { schemaId: instance.schemaId } }))
  return (
    <Dialog title={instance.name} onClose={onClose}>
      <QueryState query={schema}>
        {({ data }) => <CredentialForm schema={data.schema} instance={instance} onClose={onClose} />}
      </QueryState>
    </Dialog>
  )
}

const purposes = ['both', 'discovery', 'monitoring'] as const
type Purpose = (typeof purposes)[number]

function CredentialForm({ schema, instance, onClose }: CredentialDialogProps & { schema: JsonObject }) {
  const text = useText(credentialMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const fields = fieldsOf(schema)
  const [name, setName] = useState(instance.name)
  const [ranges, setRanges] = useState(instance.metadata.ipRanges.join('\n'))
  const [purpose, setPurpose] = useState<Purpose>(instance.metadata.purpose ?? 'both')
  const [typed, setTyped] = useState(() => formValuesOf(instance.values))
  const [isSubmitted, setSubmitted] = useState(false)
  const errors = errorsIn(fields, typed)
  const missing = (value: string) => (isSubmitted && value.trim() === '' ? text.required : undefined)
  const save = async () => {
    await api.credentials.updateInstance({
      params: { instanceId: instance.id },
      body: {
        data: {
          name: name.trim(),
          values: changesOf(fields, instance.values, typed),
          metadata: { ipRanges: rangesIn(ranges), purpose: purpose === 'both' ? null : purpose },
        },
      },
    })
    await queryClient.invalidateQueries({ queryKey: keyOf('credentials') })
    showSuccess(text.saved)
    await onClose()
  }
  const submit = () => {
    setSubmitted(true)
    const isIncomplete = name.trim() === '' || ranges.trim() === '' || Object.keys(errors).length > 0
    return isIncomplete ? false : save()
  }
  return (
    <Form action={text.save} onSubmit={submit}>
      <TextField label={text.name} error={missing(name)} isRequired value={name} onChange={setName} />
      <ValueFields fields={fields} typed={typed} errors={isSubmitted ? errors : {}} onChange={setTyped} />
      <TextAreaField
        label={text.ranges}
        hint={text.rangesHint}
        error={missing(ranges)}
        isRequired
        isCode
        rows={3}
        value={ranges}
        onChange={setRanges}
      />
      <SelectField
        label={text.purpose}
        value={purpose}
        onChange={setPurpose}
        choices={purposes.map((value) => ({ value, label: text[value] }))}
      />
    </Form>
  )
}
