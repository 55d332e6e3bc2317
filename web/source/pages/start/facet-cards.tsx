import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { type Bar, BarChart } from '../../components/values/bar-chart.tsx'
import { andFilters, quoted } from '../assets/filter/filter-conditions.ts'
import { valueName } from '../assets/model/value-names.ts'
import { useCoverage } from '../monitoring/monitoring-data.ts'
import { startMessages } from './messages.ts'
import { unreachableFilter, useFacet, useTotalQuery } from './plant-queries.ts'

type FacetCardProps = {
  title: string
  by: string
  filter?: string
  /** A bar for the assets that the filter leaves out, so that the bars add up to all assets. */
  leftOut?: { label: string; filter: string }
}
type Count = { value: string | null; count: number }

/** `FacetCard` shows how many assets have each value of a property. Each value links to its assets. */
export function FacetCard({ title, by, filter }: FacetCardProps) {
  return (
    <Card title={title}>
      <FacetBars title={title} by={by} {...(filter !== undefined && { filter })} />
    </Card>
  )
}

/** Values that few assets have are counted together, so that the bars add up to all assets. */
function FacetBars({ title, by, filter, leftOut }: FacetCardProps) {
  const text = useText(startMessages)
  const facet = useFacet(by, { filter })
  const all = useQuery(useTotalQuery(filter)).data?.meta.totalElements
  const others = useQuery({ ...useTotalQuery(leftOut?.filter), enabled: leftOut !== undefined }).data?.meta
    .totalElements
  const language = useLanguage()
  const nameOf = (value: string | null) => (value === null ? text.withoutValue : valueName(by, value, language))
  return (
    <QueryState query={facet}>
      {({ data }) => {
        if (data.length === 0) return <p className="quiet">–</p>
        const shown = data.reduce((sum, { count }) => sum + count, 0)
        const rest = (all ?? shown) - shown
        const bars = data.map((each) => barOf(each, { by, filter, name: nameOf(each.value) }))
        if (rest > 0) bars.push({ key: 'rest', count: rest, label: text.others })
        const leftOutCount = leftOut === undefined ? 0 : (others ?? 0)
        if (leftOut !== undefined && leftOutCount > 0)
          bars.push({
            key: 'left-out',
            count: leftOutCount,
            label: <AssetsLink name={leftOut.label} filter={leftOut.filter} />,
          })
        return <BarChart label={title} total={Math.max(shown, all ?? 0) + leftOutCount} bars={bars} />
      }}
    </QueryState>
  )
}

function barOf({ value, count }: Count, about: { by: string; filter: string | undefined; name: string }): Bar {
  const { by, filter, name } = about
  const own = value === null ? `${by} eq null` : `${by} eq ${quoted(value)}`
  const assets = filter === undefined ? own : andFilters(filter, own)
  return { key: String(value), count, label: <AssetsLink name={name} filter={assets} /> }
}

function AssetsLink({ name, filter }: { name: string; filter: string }) {
  return (
    <Link to="/assets" search={{ filter } as never} title={name}>
      {name}
    </Link>
  )
}

/** The filters for devices, as in the inbox, and for gateways and asset links, which the platform manages. */
const withoutPlatform = 'is_platform_managed eq false'
const ofPlatform = 'is_platform_managed eq true'

/** `MonitoringBars` shows the results of monitoring for all devices. */
function MonitoringBars() {
  const text = useText(startMessages)
  const coverage = useCoverage()
  const canOpen = usePermission('glb_jobs_read')
  if (coverage === undefined) return null
  const { devices, reached, failed, unknown, unmonitored } = coverage
  const bars = [
    { key: 'reached', count: reached, label: text.reached },
    { key: 'failed', count: failed, label: <AssetsLink name={text.unreachable} filter={unreachableFilter} /> },
    { key: 'unknown', count: unknown, label: text.notChecked },
    {
      key: 'unmonitored',
      count: unmonitored,
      label: canOpen ? <Link to="/monitoring">{text.unmonitoredDevices}</Link> : text.unmonitoredDevices,
    },
  ]
  return (
    <div>
      <h3>{text.monitoring}</h3>
      <BarChart label={text.monitoring} total={devices} bars={bars.filter(({ count }) => count > 0)} />
    </div>
  )
}

/** `StatesCard` shows how many assets have each management state and trust state, and the results of monitoring. */
export function StatesCard() {
  const text = useText(startMessages)
  const kinds: FacetCardProps[] = [
    {
      title: text.management,
      by: 'management_state/state_value',
      filter: withoutPlatform,
      leftOut: { label: text.platformManaged, filter: ofPlatform },
    },
    { title: text.trust, by: 'trust_state/state_value' },
  ]
  return (
    <Card title={text.states} size="wide">
      <div className="start-states">
        {kinds.map((kind) => (
          <div key={kind.by}>
            <h3>{kind.title}</h3>
            <FacetBars {...kind} />
          </div>
        ))}
        <MonitoringBars />
      </div>
    </Card>
  )
}
