import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useAccessGroups } from '../../../app/api/access-groups.ts'
import { failureOf } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showError, showSuccess, showWarning } from '../../../components/feedback/toast.ts'
import { showUndo } from '../../../components/feedback/undo-toast.tsx'
import { CheckField, SelectField, TextField } from '../../../components/forms/fields.tsx'
import { assetsMessages } from '../messages.ts'
import { stateName } from '../model/value-names.ts'
import { BulkPreview } from './bulk-preview.tsx'
import { BulkProgress, type BulkProgressState } from './bulk-progress.tsx'
import {
  type BulkField,
  type CurrentValue,
  changeGroups,
  type NewValue,
  propertyKey,
  readValues,
  restoreValues,
  writeValues,
} from './bulk-values.ts'

type BulkEditDialogProps = { ids: readonly string[]; onClose: () => void }

/**
 * `BulkEditDialog` edits one field of many assets. It shows the current values first, writes only the assets whose value
 * changes, and offers to undo the change.
 */
export function BulkEditDialog({ ids, onClose }: BulkEditDialogProps) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const api = useApi()
  const [field, setField] = useState<BulkField>('management_state')
  const [value, setValue] = useState('regarded')
  const [isCleared, setCleared] = useState(false)
  const [progress, setProgress] = useState<BulkProgressState>()
  const { values, failure } = useCurrentValues(field, ids)
  const labelOf = useValueLabel(field)
  const isMissing = !isCleared && value.trim() === ''
  const target = isCleared ? undefined : value.trim()
  const groups = values === undefined || isMissing ? [] : changeGroups(values, target)
  const changed = groups.flatMap(({ assets }) => assets)
  const undo = useUndo({ field, target })
  const confirm = async () => {
    setProgress({ done: 0 })
    const outcome = await writeValues(
      api,
      { field, values: changed.map(({ id }) => ({ id, value: target })) },
      (done) => setProgress({ done }),
    )
    setProgress({ done: changed.length, outcome })
    const failed = new Set(outcome.failures.map(({ id }) => id))
    const written = changed.filter(({ id }) => !failed.has(id))
    if (written.length > 0) {
      showUndo(text.changed(outcome.done, formats.number(outcome.done)), text.undo, () => undo(written))
    }
    return outcome.failures.length === 0
  }
  return (
    <ConfirmDialog
      title={text.editTitle(ids.length, formats.number(ids.length))}
      action={changed.length === 0 ? text.save : text.changeAction(changed.length, formats.number(changed.length))}
      isDisabled={changed.length === 0}
      isDone={progress?.outcome !== undefined}
      onConfirm={confirm}
      onClose={onClose}
    >
      {progress === undefined ? (
        <>
          <ChangeFields
            field={field}
            value={value}
            isCleared={isCleared}
            onField={(next, first) => {
              setField(next)
              setValue(first)
              setCleared(false)
            }}
            onValue={setValue}
            onCleared={setCleared}
          />
          <BulkPreview
            values={values}
            failure={failure}
            groups={groups}
            target={isMissing ? undefined : labelOf(target)}
            labelOf={labelOf}
          />
        </>
      ) : (
        <BulkProgress progress={progress} all={changed.length} />
      )}
    </ConfirmDialog>
  )
}

type CurrentValues = { values?: readonly CurrentValue[]; failure?: unknown }

/** Reads the values of a field while the dialog is open. */
function useCurrentValues(field: BulkField, ids: readonly string[]): CurrentValues {
  const api = useApi()
  const [state, setState] = useState<CurrentValues & { field?: BulkField }>({})
  // The selection cannot change while the dialog is open.
  const [selected] = useState(ids)
  useEffect(() => {
    const aborted = new AbortController()
    readValues(api, { field, ids: selected, signal: aborted.signal }).then(
      (values) => setState({ field, values }),
      (failure) => {
        if (!aborted.signal.aborted) setState({ field, failure })
      },
    )
    return () => aborted.abort()
  }, [api, field, selected])
  return state.field === field ? state : {}
}

/** Returns a function that restores the values before the change, and reports the result. */
function useUndo({ field, target }: { field: BulkField; target: string | undefined }) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const api = useApi()
  return async (before: readonly NewValue[]) => {
    try {
      const { restored, kept } = await restoreValues(api, { field, before, target })
      if (kept === 0) showSuccess(text.restored(restored, formats.number(restored)))
      else showWarning(text.restoredSome(formats.number(restored), formats.number(kept)))
    } catch (error) {
      showError(failureOf(error).message)
    }
  }
}

const states = ['regarded', 'unknown', 'ignored'] as const
const yesOrNo = ['true', 'false'] as const

function useCustomProperties() {
  const query = useOperationQuery()
  return useQuery(query(['inventory', 'listCustomProperties'], { query: { limit: 100 } })).data?.data ?? []
}

/** Returns a function that formats a value of a field for the user. */
function useValueLabel(field: BulkField): (value: string | undefined) => string {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const type = useCustomProperties().find(({ key }) => key === propertyKey(field))?.data_type
  return (value) => {
    if (value === undefined) return text.withoutValue
    if (field === 'management_state') return stateName(field, value, language)
    const isYesOrNo = type === 'boolean' && (value === 'true' || value === 'false')
    return isYesOrNo ? text[value] : value
  }
}

type ChangeFieldsProps = {
  field: BulkField
  value: string
  isCleared: boolean
  onField: (field: BulkField, firstValue: string) => void
  onValue: (value: string) => void
  onCleared: (isCleared: boolean) => void
}

function ChangeFields({ field, value, isCleared, onField, onValue, onCleared }: ChangeFieldsProps) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const groups = useAccessGroups()
  const properties = useCustomProperties()
  const values: Record<string, { value: string; label: string }[]> = {
    management_state: states.map((each) => ({ value: each, label: stateName('management_state', each, language) })),
    access_group: groups.map(({ name }) => ({ value: name, label: name })),
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
      <SelectField<BulkField>
        label={text.field}
        value={field}
        onChange={(next) => onField(next, values[next]?.[0]?.value ?? '')}
        choices={[
          { value: 'management_state', label: text.managementState },
          { value: 'access_group', label: text.accessGroup },
          { value: 'responsible', label: text.responsible },
          ...properties.map(({ key, name }) => ({ value: `property:${key}` as const, label: name })),
        ]}
      />
      {!isCleared &&
        (choices === undefined ? (
          <TextField
            label={text.value}
            type={type === 'boolean' ? 'text' : type}
            value={value}
            onChange={onValue}
            maxLength={256}
            isRequired
          />
        ) : (
          <SelectField label={text.value} value={value} onChange={onValue} choices={choices} />
        ))}
      {propertyKey(field) !== undefined && (
        <CheckField label={text.clearValue} isChecked={isCleared} onChange={onCleared} />
      )}
    </div>
  )
}
