import { type Import, type ImportRow, type RowOutcome, rowOutcomes } from '@millwright/api/imports.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { KeyFigures } from '../../../components/values/key-figures.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip, type Tone } from '../../../components/values/status-chip.tsx'
import { failureOfRun } from '../export/export-dialog.tsx'
import { useFileDownload } from '../file-download.ts'
import { type FileText, fileMessages } from '../messages.ts'
import { RunState } from '../run-state.tsx'
import { ImportSteps } from './import-steps.tsx'
import { previewedFile } from './previewed-file.ts'
import '../files.css'

const unfinished: readonly Import['state'][] = ['queued', 'running', 'canceling']
const pollMs = 1_000

/** `ImportPage` shows one import: the preview of a dry run, the progress of a running import, and the results of its rows. */
export function ImportPage() {
  const text = useText(fileMessages)
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const query = useOperationQuery()
  usePageTitle(text.imports)
  const found = useQuery({
    ...query(['imports', 'readImport'], { params: { importId: id } }, { live: ['imports.import'] }),
    refetchInterval: ({ state }) => (state.data !== undefined && isEnded(state.data.data) ? false : pollMs),
  })
  return <QueryState query={found}>{({ data }) => <ImportView run={data} />}</QueryState>
}

function isEnded({ state }: Import): boolean {
  return !unfinished.includes(state)
}

function ImportView({ run }: { run: Import }) {
  const text = useText(fileMessages)
  const { save, failure } = useFileDownload()
  const isPreview = run.dryRun && run.state === 'finished'
  const ignored = run.columns.filter(({ to }) => to === null).map(({ from }) => from)
  return (
    <>
      <PageHeader
        title={run.dryRun ? text.previewOf(run.fileName) : text.importOf(run.fileName)}
        subtitle={isPreview ? text.previewText : undefined}
        above={<ParentLink to="/files">{text.breadcrumb}</ParentLink>}
        actions={<ImportActions run={run} />}
      />
      <ImportSteps current={run.dryRun ? 'stepPreview' : 'stepResult'} />
      {run.state === 'failed' ? (
        <ProblemMessage failure={failureOfRun(run, text.importFailed)} title={text.importFailed} />
      ) : (
        <>
          {isEnded(run) ? (
            !run.dryRun && (
              <p>
                <RunState state={run.state} progress={run.progress} />
              </p>
            )
          ) : (
            <div role="status">
              <p>{run.state === 'queued' ? text.queued : run.dryRun ? text.checking : text.importing}</p>
              <Progress value={run.state === 'queued' ? undefined : run.progress} label={text.progress} />
            </div>
          )}
          <Figures run={run} />
          {ignored.length > 0 && <p className="import-note">{text.ignoredColumns(ignored.join(', '))}</p>}
          {run.state === 'finished' && <NextStep run={run} />}
          {isEnded(run) && run.rows > 0 && (
            <p className="import-note">
              <button
                type="button"
                className="link-button"
                onClick={() => save('imports', 'readReport', { params: { importId: run.id } })}
              >
                {text.report}
              </button>{' '}
              <span className="field-hint">{text.reportHint}</span>
            </p>
          )}
          {failure !== undefined && <ProblemMessage failure={failure} />}
          {isEnded(run) && <Rows run={run} />}
        </>
      )}
    </>
  )
}

/** `NextStep` describes what the user can do if rows have errors, or if a preview contains no changes. */
function NextStep({ run }: { run: Import }) {
  const note = nextStepOf(useText(fileMessages), run)
  return note === undefined ? null : (
    <p className="import-note" role="status">
      {note}
    </p>
  )
}

function nextStepOf(text: FileText, { dryRun, rows, created, updated, failed }: Import): string | undefined {
  if (failed === 0) return dryRun && created + updated === 0 ? text.nothingToDo : undefined
  if (!dryRun) return text.errorsLeft
  return failed === rows ? text.onlyErrors : text.errorsRemain
}

function Figures({ run: { dryRun, rows, created, updated, unchanged, failed } }: { run: Import }) {
  const text = useText(fileMessages)
  const formats = useFormats()
  return (
    <KeyFigures
      figures={[
        { name: text.rows, value: formats.number(rows) },
        { name: dryRun ? text.toCreate : text.created, value: formats.number(created) },
        { name: dryRun ? text.toUpdate : text.updated, value: formats.number(updated) },
        { name: text.unchanged, value: formats.number(unchanged) },
        { name: dryRun ? text.withErrors : text.failedRows, value: formats.number(failed) },
      ]}
    />
  )
}

/** The buttons that start, cancel and delete an import. */
function ImportActions({ run }: { run: Import }) {
  const text = useText(fileMessages)
  const formats = useFormats()
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const params = { importId: run.id }
  const changes = run.created + run.updated
  const canChange = run.dryRun && run.columns.length > 0 && previewedFile(run.id) !== undefined
  const act = async (work: () => Promise<unknown>) => {
    setBusy(true)
    setFailure(undefined)
    try {
      await work()
      await queryClient.invalidateQueries({ queryKey: keyOf('imports') })
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  const start = () =>
    act(async () => {
      const { data } = await api.imports.runImport({ params })
      await navigate({ to: `/files/imports/${data.importId}` })
    })
  return (
    <>
      {isEnded(run) && (
        <ConfirmButton
          action={text.deleteImport}
          title={text.deleteImport}
          onConfirm={async () => {
            await api.imports.deleteImport({ params })
            showSuccess(text.deleted)
            await navigate({ to: '/files' })
          }}
        >
          {text.deleteImportText}
        </ConfirmButton>
      )}
      {run.canCancel && (
        <IxButton variant="secondary" loading={isBusy} onClick={() => act(() => api.imports.cancelImport({ params }))}>
          {text.cancel}
        </IxButton>
      )}
      {isEnded(run) && (
        <IxButton
          variant="secondary"
          onClick={() => navigate({ to: '/files/import', search: canChange ? { from: run.id } : {} })}
        >
          {canChange ? text.changeColumns : text.importAnother}
        </IxButton>
      )}
      {run.canRun && changes > 0 && (
        <IxButton loading={isBusy} onClick={start}>
          {changes === 1 ? text.startOne : text.startImport(formats.number(changes))}
        </IxButton>
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </>
  )
}

const tones: Readonly<Record<RowOutcome, Tone>> = {
  created: 'good',
  updated: 'info',
  unchanged: 'neutral',
  failed: 'bad',
}

/** The words for the outcome of a row: what a dry run would do, or what an import has done. */
function outcomeText(text: FileText, outcome: RowOutcome, dryRun: boolean): string {
  if (!dryRun) return text[outcome]
  return { created: text.create, updated: text.update, unchanged: text.unchanged, failed: text.error }[outcome]
}

function Rows({ run }: { run: Import }) {
  const text = useText(fileMessages)
  const [search, setSearch] = useSearchState<'outcome'>()
  const [opened, setOpened] = useState<ImportRow>()
  const outcome = rowOutcomes.find((each) => each === search.outcome)
  const pagedList = usePagedList(['imports', 'listRows'], {
    params: { importId: run.id },
    query: { ...(outcome && { outcome }) },
  })
  return (
    <>
      <Toolbar>
        <SelectField
          label={text.result}
          isLabelUnseen
          value={outcome ?? ''}
          onChange={(value) => setSearch({ outcome: value })}
          choices={[
            { value: '', label: text.anyResult },
            ...rowOutcomes.map((value) => ({ value, label: outcomeText(text, value, run.dryRun) })),
          ]}
        />
      </Toolbar>
      <PagedTable
        label={text.rowsLabel}
        pagedList={pagedList}
        columns={columnsOf(text, run)}
        idOf={({ row }) => String(row)}
        onOpen={setOpened}
        empty={<EmptyState title={text.noRows} />}
      />
      {opened !== undefined && <RowDialog run={run} row={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}

function columnsOf(text: FileText, { dryRun, columns, updated, unchanged, failed }: Import): Column<ImportRow>[] {
  const hasDetails = updated + unchanged + failed > 0
  return [
    { id: 'row', header: text.row, width: 80, cell: ({ row }) => row },
    {
      id: 'result',
      header: text.result,
      width: 140,
      cell: ({ outcome }) => <StatusChip tone={tones[outcome]}>{outcomeText(text, outcome, dryRun)}</StatusChip>,
    },
    ...(hasDetails
      ? [{ id: 'details', header: text.details, width: 420, cell: (row: ImportRow) => detailsOf(text, row) }]
      : []),
    ...columns.map(
      ({ from }, index): Column<ImportRow> => ({
        id: `cell-${index}`,
        header: from,
        width: 160,
        cell: ({ cells }) => cells[index],
      }),
    ),
  ]
}

/** Returns the reasons of an error, or the identifiers by which an existing asset was found. */
function detailsOf(text: FileText, { errors = [], matchedBy = [] }: ImportRow): string {
  if (errors.length > 0) return errors.map(({ detail }) => detail).join('; ')
  return matchedBy.length === 0 ? '' : `${text.matchedBy} ${matchedBy.map(matchText).join('; ')}`
}

/** `RowDialog` shows all values of a row, its asset and the reasons of an error. */
function RowDialog({ run, row, onClose }: { run: Import; row: ImportRow; onClose: () => void }) {
  const text = useText(fileMessages)
  const { errors = [], matchedBy = [], assetId, outcome, cells } = row
  return (
    <Dialog title={`${text.row} ${row.row}`} onClose={onClose} isWide>
      <KeyValueList
        items={[
          {
            name: text.result,
            value: <StatusChip tone={tones[outcome]}>{outcomeText(text, outcome, run.dryRun)}</StatusChip>,
          },
          errors.length > 0 && { name: text.reason, value: <Lines lines={errors.map(({ detail }) => detail)} /> },
          matchedBy.length > 0 && { name: text.matchedBy, value: <Lines lines={matchedBy.map(matchText)} /> },
          assetId !== undefined && {
            name: text.asset,
            value: <Link to={`/assets/${assetId}`}>{text.openAsset}</Link>,
          },
          ...run.columns.map(({ from }, index) => ({ name: from, value: cells[index] ?? '' })),
        ]}
      />
    </Dialog>
  )
}

function Lines({ lines }: { lines: readonly string[] }) {
  return lines.map((line) => <div key={line}>{line}</div>)
}

/** Returns the values of an identifier, without its class. */
function matchText(identifier: Readonly<Record<string, unknown>>): string {
  const values = Object.entries(identifier).filter(
    ([name]) => !/^(?:asset_identifier_type|class|.*uncertainty)$/.test(name),
  )
  return values
    .map(([, value]) => (typeof value === 'object' ? JSON.stringify(value) : String(value)))
    .filter((value) => value !== '')
    .join(' · ')
}
