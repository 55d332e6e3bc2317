import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { type Bar, BarChart } from '../../components/values/bar-chart.tsx'
import { andFilters, quoted } from '../assets/filter/filter-conditions.ts'
import { valueName } from '../assets/model/value-names.ts'
import { startMessages } from './messages.ts'
import { useFacet, useTotalQuery } from './plant-queries.ts'

type FacetCardProps = { title: string; by: string; filter?: string }
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
function FacetBars({ title, by, filter }: FacetCardProps) {
  const text = useText(startMessages)
  const facet = useFacet(by, { filter })
  const all = useQuery(useTotalQuery(filter)).data?.meta.totalElements
  const language = useLanguage()
  const nameOf = (value: string | null) => (value === null ? text.withoutValue : valueName(by, value, language))
  return (
    <QueryState query={facet}>
      {({ data }) => {
        if (data.length === 0) return <p className="quiet">–</p>
        const shown = data.reduce((sum, { count }) => sum + count, 0)
        const rest = (all ?? shown) - shown
        const bars = data.map((each) => barOf(each, { by, filter, name: nameOf(each.value) }))
        return (
          <BarChart
            label={title}
            total={Math.max(shown, all ?? 0)}
            bars={rest > 0 ? [...bars, { key: 'rest', count: rest, label: text.others }] : bars}
          />
        )
      }}
    </QueryState>
  )
}

function barOf({ value, count }: Count, about: { by: string; filter: string | undefined; name: string }): Bar {
  const { by, filter, name } = about
  const own = value === null ? `${by} eq null` : `${by} eq ${quoted(value)}`
  const search = { filter: filter === undefined ? own : andFilters(filter, own) }
  return {
    key: String(value),
    count,
    label: (
      <Link to="/assets" className="plain-link" search={search as never} title={name}>
        {name}
      </Link>
    ),
  }
}

/** The filter that leaves out gateways and asset links, as the inbox does. */
const withoutPlatform = 'is_platform_managed eq false'

/** `StatesCard` shows how many assets have each management state, reachability and trust state. */
export function StatesCard() {
  const text = useText(startMessages)
  const kinds: FacetCardProps[] = [
    { title: text.management, by: 'management_state/state_value', filter: withoutPlatform },
    { title: text.reachability, by: 'reachability_state/state_value' },
    { title: text.trust, by: 'trust_state/state_value' },
  ]
  return (
    <Card title={text.states}>
      <div className="start-states">
        {kinds.map((kind) => (
          <div key={kind.by}>
            <h3>{kind.title}</h3>
            <FacetBars {...kind} />
          </div>
        ))}
      </div>
    </Card>
  )
}
