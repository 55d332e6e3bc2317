import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { useInfiniteQuery, useQueries } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Output } from '../../../app/api/client.ts'
import type { Failure } from '../../../app/api/failure.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { type Tab, Tabs } from '../../../components/page/tabs.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { ClassIcon } from '../../../components/values/class-icon.tsx'
import { Time } from '../../../components/values/time.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { type Asset, classOf, firmwareOf, nameOf, textAt, textsIn } from '../../assets/model/asset.ts'
import { discoveryMessages } from '../messages.ts'
import { whyNotCompared } from '../state-chips.tsx'
import { DeviceErrors } from './device-errors.tsx'
import { causeOf } from './error-cause.ts'
import { errorMessages } from './error-messages.ts'
import { errorOfAsset } from './missing-errors.ts'

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
  if (scan.runId === undefined) return <p className="quiet">{text.noScan}</p>
  return (
    <QueryState query={report}>
      {({ run: shown, findings, errors }) => {
        const notCompared = whyNotCompared(shown, text)
        const count = (name: string, value: number) => `${name} ${formats.number(value)}`
        const tabs: Tab<View>[] = [
          { id: 'new', label: count(text.isNew, shown.created) },
          { id: 'changed', label: count(text.changed, shown.updated) },
          { id: 'unchanged', label: count(text.unchanged, shown.unchanged) },
          {
            id: 'gone',
            label: notCompared === undefined ? count(text.missing, shown.gone) : text.missingNotChecked,
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
                {shown.comparedRun !== undefined && (
                  <p className="quiet">{text.comparedWith(formats.number(shown.comparedRun))}</p>
                )}
              </div>
            )}
            <Tabs label={text.report} tabs={tabs} chosen={view} onChoose={(id) => setSearch({ view: id })}>
              {view === 'errors' ? (
                <DeviceErrors scan={scan} run={shown} errors={errors} total={shown.errors} onMore={onEnd} />
              ) : view === 'gone' && notCompared !== undefined ? (
                <p className="quiet">{notCompared}</p>
              ) : (
                <>
                  {view === 'gone' && shown.comparedRun !== undefined && (
                    <p className="quiet section-note">
                      {text.missingComparedWith(
                        shown.newlyGone,
                        formats.number(shown.newlyGone),
                        formats.number(shown.comparedRun),
                      )}{' '}
                      {shown.errors > 0 && (
                        <>
                          {text.missingOtherErrors}{' '}
                          <button type="button" className="link-button" onClick={() => setSearch({ view: 'errors' })}>
                            {text.missingErrors(shown.errors, formats.number(shown.errors))}
                          </button>
                        </>
                      )}
                    </p>
                  )}
                  <Findings
                    findings={findings}
                    onEnd={onEnd}
                    {...(view === 'gone' && {
                      reported: { errors, isComplete: errors.length >= shown.errors, gone: shown.gone },
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

/** The number of devices above which the result can be searched. */
const searchedFrom = 10

/** The number of assets per request. The ids of more assets do not fit into a filter. */
const assetsPerRequest = 50
const assetFields = 'id,name,functional_object_type,connection_points,product_instance_information,software_components'
const product = 'product_instance_information/manufacturer_product'

/** Loads the assets of findings, by id. Assets that were deleted, or that the user cannot read, are left out. */
function useAssets(findings: readonly Finding[]): ReadonlyMap<string, Asset> {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const chunks = Array.from({ length: Math.ceil(findings.length / assetsPerRequest) }, (_, index) =>
    findings.slice(index * assetsPerRequest, (index + 1) * assetsPerRequest),
  )
  return useQueries({
    queries: chunks.map((chunk) => {
      const filter = `id in (${chunk.map(({ assetId }) => `'${assetId}'`).join(', ')})`
      const input = { query: { filter, fields: assetFields, limit: assetsPerRequest } }
      return { ...query(['inventory', 'listAssets'], input), enabled: canRead }
    }),
    combine: (results) =>
      new Map(results.flatMap(({ data }) => (data?.data ?? []) as Asset[]).map((asset) => [asset.id, asset])),
  })
}

type FindingsProps = {
  findings: readonly Finding[]
  onEnd: () => void
  /** The errors of the run, which are the reasons of missing devices, whether all of them are loaded, and the number of missing devices. */
  reported?: { errors: readonly DeviceError[]; isComplete: boolean; gone: number }
}

function Findings({ findings, onEnd, reported }: FindingsProps) {
  const text = useText(discoveryMessages)
  const causes = useText(errorMessages)
  const language = useLanguage()
  const formats = useFormats()
  const navigate = useNavigate()
  const assets = useAssets(findings)
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
    fact('firmware', [text.firmware, 100], firmwareOf),
    fact('serial', [text.serialNumber, 165], (asset) => textAt(asset, 'product_instance_information/serial_number')),
    ...(reported === undefined
      ? [fact('mac', [text.macAddress, 165], (asset) => textsIn(asset, 'connection_points', 'mac_address')[0] ?? '')]
      : []),
  ]
  const lastFound: Column<Finding> = {
    id: 'lastFound',
    header: text.lastFound,
    width: 165,
    cell: ({ lastFoundTimestamp }) => <Time at={lastFoundTimestamp} />,
  }
  if (reported !== undefined) columns.splice(2, 0, fact('reason', [text.reason, 165], reasonOf), lastFound)
  function reasonOf(asset: Asset | undefined): string {
    if (asset === undefined || reported === undefined) return ''
    const error = errorOfAsset(asset, reported.errors)
    if (error !== undefined) return causeOf(error, causes).name
    return reported.isComplete ? text.noErrorReported : ''
  }
  // The reasons are counted only if they are known for all missing devices.
  const isCounted =
    reported?.isComplete === true &&
    findings.length >= reported.gone &&
    findings.every(({ assetId }) => assets.has(assetId))
  const reasons = isCounted
    ? Map.groupBy(findings, ({ assetId }) => reasonOf(assets.get(assetId)))
    : new Map<string, Finding[]>()
  const words = searched.trim().toLowerCase()
  const rows = findings.filter(
    (finding) =>
      words === '' ||
      `${shownName(finding)} ${JSON.stringify(assets.get(finding.assetId) ?? {})}`.toLowerCase().includes(words),
  )
  return (
    <>
      {reasons.size > 0 && (
        <p className="section-note">
          {[...reasons]
            .toSorted(([, one], [, other]) => other.length - one.length)
            .map(([reason, { length }]) => `${reason}: ${formats.number(length)}`)
            .join(' · ')}
        </p>
      )}
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
