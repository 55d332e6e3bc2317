import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccessGroups } from '../../../app/api/access-groups.ts'
import type { Api } from '../../../app/api/client.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { assetsMessages } from '../messages.ts'
import { stateName } from '../model/value-names.ts'
import { BulkProgress, type BulkProgressState } from './bulk-progress.tsx'
import { type AcceptedWrite, writeInBulk } from './bulk-result.ts'

/** The headers of a bulk write. The server waits up to 30 s until the write is applied. */
const headers = { prefer: 'wait=30' }

type BulkDialogProps = { ids: readonly string[]; onClose: () => void; onDone?: () => void }

type Field = 'management_state' | 'access_group' | 'responsible' | `property:${string}`

function write(api: Api, field: Field, value: string): (ids: string[]) => Promise<AcceptedWrite> {
  if (field === 'management_state') {
    const state = value as 'regarded' | 'ignored' | 'unknown'
    return (ids) =>
      api.inventory.setManagementStates({
        headers,
        body: { data: ids.map((id) => ({ asset_id: id, state_value: state })) },
      })
  }
  if (field === 'access_group') {
    return (ids) =>
      api.inventory.setAccessGroups({
        headers,
        body: { data: ids.map((id) => ({ asset_id: id, access_group: value })) },
      })
  }
  if (field === 'responsible') {
    return (ids) =>
      api.inventory.setResponsibles({
        headers,
        body: { data: ids.map((id) => ({ asset_id: id, responsible: value })) },
      })
  }
  const key = field.slice('property:'.length)
  return (ids) =>
    api.inventory.setPropertyValues({ headers, body: { data: ids.map((id) => ({ asset_id: id, key, value })) } })
}

/** `BulkEditDialog` edits one field of many assets. */
export function BulkEditDialog({ ids, onClose, onDone }: BulkDialogProps) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const api = useApi()
  const [field, setField] = useState<Field>('management_state')
  const [value, setValue] = useState('regarded')
  const [progress, setProgress] = useState<BulkProgressState>()
  const [isMissing, setMissing] = useState(false)
  const confirm = async () => {
    setMissing(value.trim() === '')
    if (value.trim() === '') return false
    setProgress({ done: 0 })
    const outcome = await writeInBulk({
      ids,
      write: write(api, field, value),
      onProgress: (done) => setProgress({ done }),
    })
    setProgress({ done: ids.length, outcome })
    if (outcome.done > 0) showSuccess(text.changed(outcome.done, formats.number(outcome.done)))
    onDone?.()
    return outcome.failures.length === 0
  }
  return (
    <ConfirmDialog
      title={text.editTitle(ids.length, formats.number(ids.length))}
      action={text.save}
      isDone={progress?.outcome !== undefined}
      onConfirm={confirm}
      onClose={onClose}
    >
      {progress === undefined ? (
        <ChangeFields field={field} value={value} isMissing={isMissing} onField={setField} onValue={setValue} />
      ) : (
        <BulkProgress progress={progress} all={ids.length} />
      )}
    </ConfirmDialog>
  )
}

const yesOrNo = ['true', 'false'] as const

type ChangeFieldsProps = {
  field: Field
  value: string
  isMissing: boolean
  onField: (field: Field) => void
  onValue: (value: string) => void
}

function ChangeFields({ field, value, isMissing, onField, onValue }: ChangeFieldsProps) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const query = useOperationQuery()
  const groups = useAccessGroups()
  const properties = useQuery(query(['inventory', 'listCustomProperties'], { query: { limit: 100 } })).data?.data ?? []
  const values: Record<string, { value: string; label: string }[]> = {
    management_state: ['regarded', 'unknown', 'ignored'].map((each) => ({
      value: each,
      label: stateName('management_state', each, language),
    })),
    access_group: groups.map(({ id, name }) => ({ value: id, label: name })),
    ...Object.fromEntries(
      properties
        .filter(({ data_type }) => data_type === 'boolean')
        .map(({ key }) => [`property:${key}`, yesOrNo.map((each) => ({ value: each, label: text[each] }))]),
    ),
  }
  const choices = values[field]
  const type = properties.find(({ key }) => field === `property:${key}`)?.data_type ?? 'text'
  return (
    <div className="form">
      <SelectField<Field>
        label={text.field}
        value={field}
        onChange={(next) => {
          onField(next)
          onValue(values[next]?.[0]?.value ?? '')
        }}
        choices={[
          { value: 'management_state', label: text.managementState },
          { value: 'access_group', label: text.accessGroup },
          { value: 'responsible', label: text.responsible },
          ...properties.map(({ key, name }) => ({ value: `property:${key}` as const, label: name })),
        ]}
      />
      {choices === undefined ? (
        <TextField
          label={text.value}
          type={type === 'boolean' ? 'text' : type}
          value={value}
          onChange={onValue}
          maxLength={256}
          error={isMissing && value.trim() === '' ? text.required : undefined}
          isRequired
        />
      ) : (
        <SelectField label={text.value} value={value} onChange={onValue} choices={choices} />
      )}
    </div>
  )
}

export function BulkDeleteDialog({ ids, onClose, onDone }: BulkDialogProps) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const api = useApi()
  const [progress, setProgress] = useState<BulkProgressState>()
  const confirm = async () => {
    setProgress({ done: 0 })
    const outcome = await writeInBulk({
      ids,
      write: (some) => api.inventory.deleteAssets({ headers, body: { data: { ids: some } } }),
      onProgress: (done) => setProgress({ done }),
    })
    setProgress({ done: ids.length, outcome })
    if (outcome.done > 0) showSuccess(text.deleted(outcome.done, formats.number(outcome.done)))
    if (outcome.failures.length > 0) return false
    onDone?.()
    return true
  }
  return (
    <ConfirmDialog
      title={text.deleteTitle(ids.length, formats.number(ids.length))}
      action={text.deleteVerb}
      isDangerous
      isDone={progress?.outcome !== undefined}
      onConfirm={confirm}
      onClose={onClose}
    >
      {progress === undefined ? <p>{text.deleteText}</p> : <BulkProgress progress={progress} all={ids.length} />}
    </ConfirmDialog>
  )
}
