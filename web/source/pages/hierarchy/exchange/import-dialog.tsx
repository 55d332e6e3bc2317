import type { Hierarchy, PathRow } from '@millwright/api/hierarchy.ts'
import { useState } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { isFailure } from '../../../app/api/failure.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Field } from '../../../components/forms/fields.tsx'
import { KeyFigures } from '../../../components/values/key-figures.tsx'
import { useHierarchyRefresh } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { contentOf } from './import-file.ts'

type ImportBody = { csv: string } | { nodes: PathRow[] }
type ImportResult = Output<'hierarchy', 'importNodes'>['data']
type Preview = { body: ImportBody; result: ImportResult }

/** `ImportDialog` imports nodes from a file. A dry run shows what the import would change. */
export function ImportDialog({ hierarchy, onClose }: { hierarchy: Hierarchy; onClose: () => void }) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  const api = useApi()
  const refresh = useHierarchyRefresh()
  const [preview, setPreview] = useState<Preview>()
  const [failure, setFailure] = useState<unknown>()
  const [error, setError] = useState<string>()
  const [isReading, setReading] = useState(false)
  const send = async (body: ImportBody, dryRun: boolean) =>
    (await api.hierarchy.importNodes({ params: { id: hierarchy.id }, body: { data: { ...body, dryRun } } })).data
  const read = async (file: File) => {
    setPreview(undefined)
    setFailure(undefined)
    setError(undefined)
    setReading(true)
    try {
      const body = contentOf(file.name, await file.text())
      if (body === undefined) setError(text.invalidFile)
      else setPreview({ body, result: await send(body, true) })
    } catch (problem) {
      setFailure(problem)
    } finally {
      setReading(false)
    }
  }
  const confirm = async () => {
    if (preview === undefined) return false
    const { created, updated } = await send(preview.body, false)
    showSuccess(text.imported(formats.number(created), formats.number(updated)))
    return refresh()
  }
  return (
    <ConfirmDialog
      title={text.importTitle(hierarchy.name)}
      action={text.import}
      isDisabled={preview === undefined}
      onConfirm={confirm}
      onClose={onClose}
    >
      <div className="form">
        <p>{text.importText}</p>
        <Field label={text.file} hint={text.fileHint} error={error}>
          {({ id, describedBy, isInvalid }) => (
            <input
              id={id}
              className="input"
              type="file"
              accept=".csv,.json,text/csv,application/json"
              aria-describedby={describedBy}
              aria-invalid={isInvalid}
              onChange={({ target }) => {
                const [file] = target.files ?? []
                if (file !== undefined) read(file)
              }}
            />
          )}
        </Field>
        {isReading && <Loading />}
        {failure !== undefined && (
          <ProblemMessage
            failure={failure}
            title={isFailure(failure, 'invalid_body') ? text.invalidFileTitle : undefined}
          />
        )}
        {preview !== undefined && (
          <div role="status">
            <h3>{text.preview}</h3>
            <KeyFigures
              figures={[
                { name: text.toCreate, value: formats.number(preview.result.created) },
                { name: text.toUpdate, value: formats.number(preview.result.updated) },
                { name: text.unchangedNodes, value: formats.number(preview.result.unchanged) },
              ]}
            />
            {preview.result.defaultTypes > 0 && (
              <p>{text.defaultTypes(preview.result.defaultTypes, formats.number(preview.result.defaultTypes))}</p>
            )}
          </div>
        )}
      </div>
    </ConfirmDialog>
  )
}
