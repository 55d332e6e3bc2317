import type { MonitoredValue, Monitoring, MonitoringResult } from '@millwright/api/monitoring.ts'
import { iconMonitoring } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { valueText } from '../../asset/history/differences.ts'
import { useLinkNamesOfAll } from '../../discovery/gateways/gateway-links.ts'
import { monitoringMessages } from '../messages.ts'
import { isRunning, monitoringEvents, pollMs } from '../monitoring-data.ts'
import { ResultState } from '../monitoring-state.tsx'
import { detailMessages } from './messages.ts'

/** The parts of the results, with the query of each part. */
const parts = {
  all: {},
  failed: { state: 'failed' },
  unknown: { state: 'unknown' },
  reached: { state: 'reached' },
  changed: { changed: true },
} as const

type Part = keyof typeof parts
const partNames = Object.keys(parts) as Part[]

/** `Results` lists the last result of each device: unreachable devices first, then changed devices. */
export function Results({ monitoring }: { monitoring: Monitoring }) {
  const shared = useText(monitoringMessages)
  const text = useText(detailMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const [search, setSearch] = useSearchState<'results'>()
  const part = partNames.find((each) => each === search.results) ?? 'all'
  const linkNames = useLinkNamesOfAll()
  const credentialNames = useCredentialNames(monitoring)
  const pagedList = usePagedList(
    ['monitoring', 'listMonitoringResults'],
    { params: { id: monitoring.id }, query: parts[part] },
    { live: monitoringEvents, ...(isRunning(monitoring) && { refetchIntervalMs: pollMs }) },
  )
  const { summary } = monitoring
  const counts = { ...summary, all: summary.reached + summary.failed + summary.unknown }
  const hasEnded = monitoring.latestRun?.state === 'finished'
  const names = { ...shared, failed: shared.unreachable, all: text.all }
  return (
    <section className="monitoring-section" aria-labelledby="monitoring-results">
      <div className="card-head">
        <h2 id="monitoring-results">{text.results}</h2>
      </div>
      <ViewSwitch
        label={text.resultStates}
        choices={partNames.map((value) => ({ value, label: `${names[value]} ${formats.number(counts[value])}` }))}
        chosen={part}
        onChoose={(chosen) => setSearch({ results: chosen === 'all' ? undefined : chosen })}
      />
      {pagedList.error !== null ? (
        <ProblemMessage failure={pagedList.error} onRetry={pagedList.retry} />
      ) : pagedList.isLoading ? (
        <Loading />
      ) : (
        <DataTable
          label={text.results}
          columns={columnsOf(text, { linkNames, credentialNames, hasValues: monitoring.keys.length > 0 })}
          rows={pagedList.rows}
          idOf={({ assetId }) => assetId}
          onOpen={({ assetId }) => navigate({ to: `/assets/${assetId}` })}
          onEnd={pagedList.next}
          empty={
            part === 'all' ? (
              <EmptyState icon={iconMonitoring} title={hasEnded ? text.noDevices : text.noResults}>
                <p>{hasEnded ? text.noDevicesHint : text.noResultsHint}</p>
              </EmptyState>
            ) : (
              <EmptyState icon={iconMonitoring} title={text.noneOfState} />
            )
          }
        />
      )}
    </section>
  )
}

/** The maximum number of credentials of a monitoring set whose names are loaded. Other credentials show their id. */
const namedCredentials = 100

/**
 * Returns the names of the credentials of the monitoring set, by id. Returns undefined if there is no set, or the user
 * cannot read credentials.
 */
function useCredentialNames({ instancesTemplateId }: Monitoring): ReadonlyMap<string, string> | undefined {
  const query = useOperationQuery()
  const isShown = usePermission('glb_credential_read') && instancesTemplateId !== undefined
  const params = { instancesTemplateId: instancesTemplateId ?? '' }
  const input = { params, query: { limit: namedCredentials } }
  const instances = useQuery({
    ...query(['credentials', 'listTemplateInstances'], input, { live: ['credentials'] }),
    enabled: isShown,
  })
  return isShown ? new Map(instances.data?.data.map(({ id, name }) => [id, name])) : undefined
}

type Text = (typeof detailMessages)['en']
type ColumnContext = {
  linkNames: ReadonlyMap<string, string>
  credentialNames: ReadonlyMap<string, string> | undefined
  hasValues: boolean
}

function columnsOf(text: Text, { linkNames, credentialNames, hasValues }: ColumnContext): Column<MonitoringResult>[] {
  const credentials: Column<MonitoringResult> = {
    id: 'credentials',
    header: text.credentials,
    width: 170,
    cell: ({ instanceId }) =>
      instanceId !== undefined && (
        <Link to={`/credentials/${instanceId}`}>{credentialNames?.get(instanceId) ?? instanceId}</Link>
      ),
  }
  const values: Column<MonitoringResult> = {
    id: 'values',
    header: text.values,
    width: 260,
    cell: ({ values: all }) => <span title={valuesText(all)}>{valuesText(all)}</span>,
  }
  return [
    {
      id: 'device',
      header: text.device,
      width: 150,
      cell: ({ assetId, assetName }) => <Link to={`/assets/${assetId}`}>{assetName ?? assetId}</Link>,
    },
    { id: 'state', header: text.state, width: 165, cell: ({ state }) => <ResultState state={state} /> },
    { id: 'since', header: text.since, width: 150, cell: (row) => <Time at={row.sinceTimestamp} isRelative /> },
    {
      id: 'reason',
      header: text.reason,
      width: 260,
      cell: ({ message, error }) => {
        const reason = message ?? error?.detail
        return (
          reason !== undefined && (
            <span lang="en" title={reason}>
              {reason}
            </span>
          )
        )
      },
    },
    { id: 'checked', header: text.checked, width: 150, cell: (row) => <Time at={row.checkedTimestamp} isRelative /> },
    { id: 'firmware', header: text.firmware, width: 110, cell: ({ firmwareVersion }) => firmwareVersion },
    ...(hasValues ? [values] : []),
    {
      id: 'link',
      header: text.link,
      width: 130,
      cell: ({ assetLinkId }) => assetLinkId !== undefined && (linkNames.get(assetLinkId) ?? assetLinkId),
    },
    ...(credentialNames === undefined ? [] : [credentials]),
  ]
}

/** Returns the properties of a device in one line. A property that could not be read shows the problem. */
function valuesText(values: readonly MonitoredValue[]): string {
  return values.map(({ key, value, problem }) => `${key}: ${problem ?? valueText(value)}`).join(', ')
}
