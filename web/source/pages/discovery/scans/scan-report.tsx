import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Output } from '../../../app/api/client.ts'
import type { Failure } from '../../../app/api/failure.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { type Tab, Tabs } from '../../../components/page/tabs.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { ClassIcon } from '../../../components/values/class-icon.tsx'
import { Time } from '../../../components/values/time.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { type Asset, classOf, firmwareOf, nameOf, textAt, textsIn } from '../../assets/model/asset.ts'
import { discoveryMessages } from '../messages.ts'
import { DeviceErrors } from './device-errors.tsx'
import { causeOf } from './error-cause.ts'
import { useAssetsById, useMissing } from './error-devices.ts'
import { errorMessages } from './error-messages.ts'
import { errorOfAsset } from './missing-errors.ts'
import { notComparedOf } from './not-compared.ts'

type ReportPage = Output<'discovery', 'getReport'>['data']
type Finding = ReportPage['findings'][number]
type View = Finding['outcome'] | 'errors'

const views: readonly View[] = ['new', 'changed', 'unchanged', 'gone', 'errors']

const live = ['discovery', 'workflows.job']
const pageSize = 100

type ScanReportProps = {
  scan: Discovery
  /** The run that the user chose. Without it, the latest run is shown. */
  chosenRun: string | undefined
  /** The latest runs, newest first. */
  runs: readonly DiscoveryRun[]
  onChooseRun: (run: string) => void
}

/**
 * `ScanReport` shows the result of a run: the new, changed, unchanged and missing assets, and the errors of devices.
 */
export function ScanReport({ scan, chosenRun: run, runs, onChooseRun }: ScanReportProps) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const [search, setSearch] = useSearchState<'view'>()
  const view = views.find((each) => each === search.view) ?? defaultView(scan)
  const report = useReport(scan, { run, view })
  const missing = useMissing(scan, view === 'gone' || view === 'errors' ? report.data?.run : undefined)
  if (scan.runId === undefined) return <p className="quiet">{text.noScan}</p>
  return (
    <QueryState query={report}>
      {({ run: shown, findings, errors }) => {
        const notCompared = notComparedOf(shown, text)
        const count = (name: string, value: number) => `${name} ${formats.number(value)}`
        const tabs: Tab<View>[] = [
          { id: 'new', label: count(text.isNew, shown.created) },
          { id: 'changed', label: count(text.changed, shown.updated) },
          { id: 'unchanged', label: count(text.unchanged, shown.unchanged) },
          {
            id: 'gone',
            label:
              shown.comparedRun === undefined ? (
                text.missingNotChecked
              ) : (
                <span title={text.comparedWith(formats.number(shown.comparedRun))}>
                  {count(text.missing, shown.gone)}
                </span>
              ),
            startsGroup: true,
          },
          { id: 'errors', label: count(text.errors, shown.errors), startsGroup: true },
        ]
        const onEnd = () => {
          if (report.hasNextPage && !report.isFetchingNextPage) report.fetchNextPage()
        }
        return (
          <>
            {runs.length > 1 && (
              <div className="report-run">
                <SelectField
                  label={text.run}
                  value={run ?? shown.id}
                  onChange={onChooseRun}
                  choices={runs.map(({ id, number, createdTimestamp, trigger }) => ({
                    value: id,
                    label: `${number}: ${formats.dateTime(createdTimestamp)}, ${trigger === 'person' ? text.manual : text.scheduled}`,
                  }))}
                />
              </div>
            )}
            <Tabs label={text.report} tabs={tabs} chosen={view} onChoose={(id) => setSearch({ view: id })}>
              {view === 'errors' ? (
                <DeviceErrors scan={scan} run={shown} errors={errors} missing={missing} onMore={onEnd} />
              ) : view === 'gone' && notCompared !== undefined ? (
                <p className="quiet">{notCompared.detail}</p>
              ) : (
                <>
                  {view === 'gone' && <MissingNote gone={shown.gone} withError={missing.withError} />}
                  <Findings
                    findings={findings}
                    onEnd={onEnd}
                    isMissing={view === 'gone'}
                    {...(view === 'gone' &&
                      shown.errors > 0 && {
                        reported: { errors, isComplete: errors.length >= shown.errors },
                      })}
                  />
                </>
              )}
            </Tabs>
          </>
        )
      }}
    </QueryState>
  )
}

type MissingNoteProps = {
  gone: number
  /** The number of missing devices with an error of the run, if it is known. */
  withError: number | undefined
}

/** `MissingNote` divides the missing devices into those with and those without an error of the run. */
function MissingNote({ gone, withError }: MissingNoteProps) {
  const text = useText(discoveryMessages)
  const { number } = useFormats()
  if (withError === undefined || withError === 0) return null
  return (
    <p className="quiet section-note">
      {withError === gone
        ? text.missingAllErrors(number(gone))
        : text.missingParts(number(gone), number(gone - withError), number(withError))}
    </p>
  )
}

/** Returns the first view with entries. What needs an action comes first. */
function defaultView({ created, updated, gone, errors, unchanged }: Discovery): View {
  if (errors > 0) return 'errors'
  if (gone > 0) return 'gone'
  if (created > 0) return 'new'
  if (updated > 0) return 'changed'
  return unchanged > 0 ? 'unchanged' : 'new'
}

type ReportOptions = { run: string | undefined; view: View }
type LoadedReport = { run: ReportPage['run']; findings: Finding[]; errors: DeviceError[] }

/** Loads a report page by page. */
function useReport({ jobId, runId }: Discovery, { run, view }: ReportOptions) {
  const api = useApi()
  const input = { ...(run !== undefined && { run }), ...(view !== 'errors' && { outcome: view }) }
  return useInfiniteQuery<ReportPage, Failure, LoadedReport, readonly unknown[], number>({
    queryKey: keyOf('discovery', 'getReport', { jobId, ...input }),
    queryFn: async ({ pageParam }) => {
      const query = { ...input, limit: pageSize, offset: pageParam }
      return (await api.discovery.getReport({ params: { jobId }, query })).data
    },
    initialPageParam: 0,
    getNextPageParam: (last, parts) => {
      const [rows, total] = view === 'errors' ? [last.errors, last.totalErrors] : [last.findings, last.totalFindings]
      const next = parts.length * pageSize
      return rows.length > 0 && next < total ? next : undefined
    },
    select: ({ pages }) => ({
      run: (pages[0] as ReportPage).run,
      findings: pages.flatMap(({ findings }) => findings),
      errors: pages.flatMap(({ errors }) => errors),
    }),
    enabled: runId !== undefined,
    placeholderData: (before) => before,
    meta: { live },
  })
}

const product = 'product_instance_information/manufacturer_product'

/** The number of devices above which the result can be searched. */
const searchedFrom = 10

type FindingsProps = {
  findings: readonly Finding[]
  onEnd: () => void
  /** Whether the findings are missing devices. */
  isMissing: boolean
  /** The errors of the run, which are the reasons of missing devices, and whether all of them are loaded. */
  reported?: { errors: readonly DeviceError[]; isComplete: boolean }
}

function Findings({ findings, onEnd, isMissing, reported }: FindingsProps) {
  const text = useText(discoveryMessages)
  const causes = useText(errorMessages)
  const language = useLanguage()
  const navigate = useNavigate()
  const assets = useAssetsById(findings.map(({ assetId }) => assetId))
  const shownName = ({ assetId, name }: Finding) => {
    const asset = assets.get(assetId)
    return name ?? (asset === undefined ? text.unnamed : nameOf(asset))
  }
  type FactOf = (asset: Asset | undefined) => string
  const fact = (id: string, [header, width]: [string, number], factOf: FactOf): Column<Finding> => ({
    id,
    header,
    width,
    cell: ({ assetId }) => {
      const shown = factOf(assets.get(assetId))
      // A module is reached through its controller, so it has no address.
      return shown === '' ? <span className="quiet">–</span> : <span title={shown}>{shown}</span>
    },
  })
  const [searched, setSearched] = useState('')
  const columns: Column<Finding>[] = [
    {
      id: 'name',
      header: text.device,
      width: 150,
      cell: (finding) => {
        const asset = assets.get(finding.assetId)
        return (
          <span className="grid-name">
            {asset !== undefined && <ClassIcon assetClass={classOf(asset)} language={language} />}
            <Link to={`/assets/${finding.assetId}`}>{shownName(finding)}</Link>
          </span>
        )
      },
    },
    fact('address', [text.ipAddress, 110], (asset) => textsIn(asset, 'connection_points', 'ipv4_address')[0] ?? ''),
    fact('manufacturer', [text.manufacturer, 160], (asset) => textAt(asset, `${product}/manufacturer/name`)),
    fact('product', [text.product, 195], (asset) => textAt(asset, `${product}/product_name`)),
    ...(isMissing ? [] : [fact('firmware', [text.firmware, 100], firmwareOf)]),
    fact('serial', [text.serialNumber, 165], (asset) => textAt(asset, 'product_instance_information/serial_number')),
    ...(isMissing
      ? []
      : [fact('mac', [text.macAddress, 165], (asset) => textsIn(asset, 'connection_points', 'mac_address')[0] ?? '')]),
  ]
  const lastFound: Column<Finding> = {
    id: 'lastFound',
    header: text.lastFound,
    width: 225,
    minWidth: 225,
    cell: ({ lastFoundTimestamp }) => <Time at={lastFoundTimestamp} />,
  }
  if (isMissing) columns.splice(2, 0, lastFound)
  if (reported !== undefined) columns.splice(2, 0, fact('reason', [text.runError, 150], reasonOf))
  function reasonOf(asset: Asset | undefined): string {
    if (asset === undefined || reported === undefined) return ''
    const error = errorOfAsset(asset, reported.errors)
    if (error !== undefined) return causeOf(error, causes).name
    return reported.isComplete ? text.noError : ''
  }
  const words = searched.trim().toLowerCase()
  const rows = findings.filter(
    (finding) =>
      words === '' ||
      `${shownName(finding)} ${JSON.stringify(assets.get(finding.assetId) ?? {})}`.toLowerCase().includes(words),
  )
  return (
    <>
      {findings.length > searchedFrom && (
        <div className="report-search">
          <SearchField label={text.searchDevice} hint={text.searchDevice} value={searched} onChange={setSearched} />
        </div>
      )}
      <DataTable
        label={text.report}
        columns={columns}
        rows={rows}
        idOf={({ assetId }) => assetId}
        onOpen={({ assetId }) => navigate({ to: `/assets/${assetId}` })}
        onEnd={onEnd}
        empty={<p className="quiet">{findings.length > 0 ? text.noMatch : text.none}</p>}
      />
    </>
  )
}
