import { identifiesAssets } from '@millwright/api/asset-columns.ts'
import type { MappedColumn, MappingSuggestion } from '@millwright/api/imports.ts'
import { IxButton } from '@siemens/ix-react'
import { useEffect, useRef, useState } from 'react'
import { isFailure } from '../../../app/api/failure.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { fileMessages } from '../messages.ts'
import { useFields } from './field-names.ts'
import { needsMapping } from './mapping-need.ts'

type Suggested = MappingSuggestion['columns'][number]

type ColumnFormProps = {
  fileName: string
  suggestion: MappingSuggestion
  /** Continues with a saved mapping, or without one if the headings of the file determine all fields. */
  onPreview: (mappingId: string | undefined) => Promise<void>
  onBack: () => void
}

/** `ColumnForm` shows the columns of a file with the suggested fields. The user can choose other fields. */
export function ColumnForm({ fileName, suggestion, onPreview, onBack }: ColumnFormProps) {
  const text = useText(fileMessages)
  const api = useApi()
  const { fields, properties } = useFields()
  const [targets, setTargets] = useState(() => suggestion.columns.map(({ to }) => to))
  const [name, setName] = useState(fileName.replace(/\.\w+$/, ''))
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLDivElement>(null)
  // The button that chose the file is gone, so the keyboard continues at the first column.
  useEffect(() => form.current?.focus({ preventScroll: true }), [])
  const double = targets.find((to, index) => to !== null && targets.indexOf(to) !== index)
  const isUnidentified = suggestion.columns.length > 0 && !identifiesAssets(targets)
  const columns = suggestion.columns.map(({ from }, index): MappedColumn => ({ from, to: targets[index] ?? null }))
  const isSaved = needsMapping(suggestion, targets, properties)
  const submit = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      await onPreview(isSaved ? await savedMapping() : suggestion.mappingId)
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  /** Saves the mapping. A mapping of the same name is replaced. */
  const savedMapping = async (): Promise<string> => {
    const body = { data: { name, columns } }
    try {
      return (await api.imports.createMapping({ body })).data.id
    } catch (error) {
      if (!isFailure(error, 'already_exists')) throw error
      const { data } = await api.imports.listMappings({ query: { limit: 100 } })
      const mappingId = data.find((mapping) => mapping.name === name)?.id
      if (mappingId === undefined) throw error
      return (await api.imports.updateMapping({ params: { mappingId }, body })).data.id
    }
  }
  return (
    <div className="form column-form" role="group" aria-label={text.stepColumns} tabIndex={-1} ref={form}>
      <p>{suggestion.columns.length === 0 ? text.noColumns : text.columnsHint}</p>
      {suggestion.columns.length > 0 && (
        <PlainTable columns={[text.column, text.examples, text.field]}>
          {suggestion.columns.map((column, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the columns of a file do not move
            <tr key={index}>
              <th scope="row">{column.from}</th>
              <td className="examples">{column.examples.slice(0, 3).join(' · ')}</td>
              <td className="column-field">
                <SelectField
                  label={`${text.field}: ${column.from}`}
                  isLabelUnseen
                  value={targets[index] ?? ''}
                  onChange={(to) => setTargets(targets.with(index, to === '' ? null : to))}
                  choices={[{ value: '', label: text.ignoreColumn }, ...fields]}
                />
                {column.to !== null && column.to === targets[index] && <Reason column={column} />}
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
      {double !== undefined && (
        <p className="field-error" role="alert">
          {text.doubleField(fields.find(({ value }) => value === double)?.label ?? '')}
        </p>
      )}
      {isUnidentified && (
        <p className="field-error" role="alert">
          {text.noIdentifier}
        </p>
      )}
      {isSaved && (
        <TextField
          label={text.mappingName}
          hint={text.mappingHint}
          value={name}
          onChange={setName}
          maxLength={128}
          isRequired
        />
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
      <div className="form-actions">
        <IxButton variant="secondary" onClick={onBack}>
          {text.otherFile}
        </IxButton>
        <IxButton
          loading={isBusy}
          disabled={double !== undefined || isUnidentified || (isSaved && name.trim() === '')}
          onClick={submit}
        >
          {text.preview}
        </IxButton>
      </div>
    </div>
  )
}

function Reason({ column: { reason } }: { column: Suggested }) {
  const text = useText(fileMessages)
  const labels = { heading: text.byHeading, values: text.byValues, mapping: text.byMapping }
  return reason === null ? null : <StatusChip>{labels[reason]}</StatusChip>
}
