import {
  type ExportContent,
  type ExportFile,
  type ExportFormat,
  type ExportRequest,
  exportPermissions,
  formatsOf,
  unfinishedExportStates,
} from '@millwright/api/exports.ts'
import { iconExport } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useState } from 'react'
import { Failure } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePreference } from '../../../app/preferences/preference.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { CheckField, SelectField } from '../../../components/forms/fields.tsx'
import { useFileDownload } from '../file-download.ts'
import { type FileText, fileMessages } from '../messages.ts'
import { callFor, commandFor } from './export-command.ts'
import { useExportEnd } from './export-list.tsx'
import '../files.css'

/** The columns of a table on the page. */
export type ShownColumns = {
  /** The columns in exports. */
  columns: readonly string[]
  /** The titles of columns that exports do not have. */
  leftOut: readonly string[]
}

type ExportProps = {
  what: ExportContent
  /** The search and the filter of the page. */
  selection: Omit<ExportRequest, 'what' | 'format' | 'columns'>
  shown?: ShownColumns
}

/** Returns whether the user can export a content. */
export function useCanExport(what: ExportContent): boolean {
  const canExport = usePermission('glb_file_export')
  const canRead = usePermission(exportPermissions[what] ?? 'glb_file_export')
  return canExport && canRead
}

/** `ExportButton` opens the dialog that exports the entries of a page. It is hidden without permission. */
export function ExportButton(props: ExportProps) {
  const text = useText(fileMessages)
  const [isOpen, setOpen] = useState(false)
  if (!useCanExport(props.what)) return null
  return (
    <>
      <IxButton variant="secondary" icon={iconExport} onClick={() => setOpen(true)}>
        {text.export}
      </IxButton>
      {isOpen && <ExportDialog {...props} onClose={() => setOpen(false)} />}
    </>
  )
}

const tables: readonly ExportFormat[] = ['xlsx', 'csv']
const pollMs = 1_000

/** `ExportDialog` exports the entries of a page to a file, and downloads the file. */
export function ExportDialog({ what, selection, shown, onClose }: ExportProps & { onClose: () => void }) {
  const text = useText(fileMessages)
  const api = useApi()
  const [stored, setFormat] = usePreference<unknown>(`export.format.${what}`, undefined)
  const [onlyShown, setOnlyShown] = useState(false)
  const [exportId, setExportId] = useState<string>()
  const [failure, setFailure] = useState<unknown>()
  const choices = formatsOf[what]
  const format = choices.find((each) => each === stored) ?? choices[0] ?? 'json'
  const canChooseColumns = shown !== undefined && tables.includes(format)
  const request: ExportRequest = {
    what,
    format,
    ...selection,
    ...(canChooseColumns && onlyShown && { columns: [...shown.columns] }),
  }
  const start = async () => {
    try {
      setFailure(undefined)
      setExportId((await api.exports.createExport({ body: { data: request } })).data.exportId)
    } catch (error) {
      setFailure(error)
    }
  }
  return (
    <Dialog
      title={text.exportTitle(selection.assetId === undefined ? text[what] : text.oneAssetTitle)}
      onClose={onClose}
      isWide
      actions={
        <>
          <IxButton variant="secondary" onClick={onClose}>
            {text.close}
          </IxButton>
          {exportId === undefined && <IxButton onClick={start}>{text.export}</IxButton>}
        </>
      }
    >
      {exportId === undefined ? (
        <div className="form">
          <p>{scopeOf(text, what, selection)}</p>
          <SelectField
            label={text.format}
            value={format}
            onChange={setFormat}
            choices={choices.map((value) => ({ value, label: text[value] }))}
          />
          {canChooseColumns && (
            <CheckField
              label={text.shownColumns}
              hint={text.allColumnsHint}
              isChecked={onlyShown}
              onChange={setOnlyShown}
            />
          )}
          {canChooseColumns && onlyShown && shown.leftOut.length > 0 && <p>{text.leftOut(shown.leftOut.join(', '))}</p>}
          <CodeBlock title={text.sameCommand} label={text.copyCommand} code={commandFor(request)} />
          <CodeBlock title={text.sameCall} label={text.copyCall} code={callFor(request)} />
        </div>
      ) : (
        <RunningExport exportId={exportId} />
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </Dialog>
  )
}

/** Returns the sentence that describes which entries are exported. */
function scopeOf(text: FileText, what: ExportContent, selection: ExportProps['selection']): string {
  if (selection.assetId !== undefined) return text.oneAsset
  if (selection.hierarchyId !== undefined) return text.oneHierarchy
  if (what === 'relations') return text.relationsOfAsset
  const isSelected = Object.keys(selection).some((name) => name !== 'sort')
  if (what === 'graph') return isSelected ? text.selectedGraph : text.wholeGraph
  return isSelected ? text.selection : text.everything
}

function CodeBlock({ title, label, code }: { title: string; label: string; code: string }) {
  return (
    <details className="code-details">
      <summary>{title}</summary>
      <div className="code-block">
        <pre>
          <code>{code}</code>
        </pre>
        <CopyButton value={code} label={label} />
      </div>
    </details>
  )
}

/** Shows the progress of an export. Downloads the file when the export has finished. */
function RunningExport({ exportId }: { exportId: string }) {
  const text = useText(fileMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const isEnded = (file: ExportFile | undefined) => file !== undefined && !unfinishedExportStates.includes(file.state)
  const { data, error } = useQuery({
    ...query(['exports', 'readExport'], { params: { exportId } }, { live: ['exports.file'] }),
    refetchInterval: ({ state }) => (isEnded(state.data?.data) ? false : pollMs),
  })
  const { save, failure } = useFileDownload()
  const end = useExportEnd()
  const file = data?.data
  const load = useEffectEvent(() => save('exports', 'readExportContent', { params: { exportId } }))
  const isFinished = file?.state === 'finished'
  useEffect(() => {
    if (isFinished) load()
  }, [isFinished])
  if (error !== null) return <ProblemMessage failure={error} />
  if (failure !== undefined) return <ProblemMessage failure={failure} onRetry={load} />
  if (file?.state === 'failed') return <ProblemMessage failure={failureOfRun(file, text.failedState)} />
  return (
    <div role="status" className="form">
      <p>{isFinished ? text.ready : file?.state === 'canceled' ? text.canceled : text.exporting}</p>
      {isFinished && (
        <p>
          <strong>{file.fileName}</strong> · {text.entryCount(file.rows, formats.number(file.rows))} ·{' '}
          {formats.bytes(file.bytes)}
        </p>
      )}
      {!isEnded(file) && <Progress value={file?.progress} label={text.progress} />}
      <div>
        {isFinished && (
          <IxButton variant="secondary" onClick={load}>
            {text.downloadAgain}
          </IxButton>
        )}
        {file !== undefined && !isEnded(file) && (
          <IxButton variant="secondary" onClick={() => end(file, 'cancel')}>
            {text.cancel}
          </IxButton>
        )}
      </div>
    </div>
  )
}

/** Returns the failure of an import or export that has failed. */
export function failureOfRun({ problem }: { problem?: { code: string; detail: string } }, title: string): Failure {
  return new Failure({ title, code: problem?.code ?? 'internal', detail: problem?.detail ?? title })
}
