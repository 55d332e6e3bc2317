import { type ExportFile, unfinishedExportStates } from '@millwright/api/exports.ts'
import { iconExport } from '@siemens/ix-icons/icons'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useFileDownload } from '../file-download.ts'
import { type FileText, fileMessages } from '../messages.ts'
import { RunState } from '../run-state.tsx'

/** `ExportList` lists the exports of the user. */
export function ExportList() {
  const text = useText(fileMessages)
  const formats = useFormats()
  const pagedList = usePagedList(['exports', 'listExports'], {}, { live: ['exports.file'] })
  const { save, failure } = useFileDownload()
  const end = useExportEnd()
  const onDownload = ({ id }: ExportFile) => save('exports', 'readExportContent', { params: { exportId: id } })
  return (
    <>
      {failure !== undefined && <ProblemMessage failure={failure} />}
      <PagedTable
        label={text.exports}
        pagedList={pagedList}
        columns={columnsOf(text, { formats, onDownload, end })}
        idOf={({ id }) => id}
        empty={
          <EmptyState icon={iconExport} title={text.noExports}>
            <p>{text.noExportsHint}</p>
            <Link to="/assets">{text.toAssets}</Link>
          </EmptyState>
        }
      />
    </>
  )
}

type ExportAction = (file: ExportFile, action: 'cancel' | 'delete') => Promise<void>

/** Returns a function that cancels or deletes an export. */
export function useExportEnd(): ExportAction {
  const text = useText(fileMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  return async ({ id: exportId }, action) => {
    try {
      await (action === 'cancel'
        ? api.exports.cancelExport({ params: { exportId } })
        : api.exports.deleteExport({ params: { exportId } }))
      showSuccess(action === 'cancel' ? text.canceledToast : text.deleted)
    } catch (error) {
      showError(error instanceof Error ? error.message : String(error))
    }
    await queryClient.invalidateQueries({ queryKey: keyOf('exports') })
  }
}

type ColumnOptions = {
  formats: ReturnType<typeof useFormats>
  onDownload: (file: ExportFile) => void
  end: ExportAction
}

function columnsOf(text: FileText, { formats, onDownload, end }: ColumnOptions): Column<ExportFile>[] {
  return [
    {
      id: 'file',
      header: text.file,
      width: 260,
      cell: (file) =>
        file.state === 'finished' ? (
          <button
            type="button"
            className="link-button"
            aria-label={`${text.download}: ${file.fileName}`}
            onClick={() => onDownload(file)}
          >
            {file.fileName}
          </button>
        ) : (
          file.fileName
        ),
    },
    {
      id: 'state',
      header: text.state,
      width: 170,
      cell: ({ state, progress }) => <RunState state={state} progress={progress} />,
    },
    { id: 'entries', header: text.entries, width: 90, cell: ({ rows }) => formats.number(rows) },
    { id: 'size', header: text.size, width: 90, cell: ({ bytes }) => formats.bytes(bytes) },
    { id: 'time', header: text.time, width: 170, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
    {
      id: 'until',
      header: text.storedUntil,
      width: 170,
      cell: ({ expiresTimestamp }) => expiresTimestamp !== undefined && <Time at={expiresTimestamp} />,
    },
    {
      id: 'actions',
      header: text.actions,
      width: 130,
      cell: (file) => {
        const action = unfinishedExportStates.includes(file.state) ? 'cancel' : 'delete'
        return (
          <button
            type="button"
            className="link-button"
            aria-label={`${text[action]}: ${file.fileName}`}
            onClick={() => end(file, action)}
          >
            {text[action]}
          </button>
        )
      },
    },
  ]
}
