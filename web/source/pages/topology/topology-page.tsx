import { iconGraph } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { operationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { useApi } from '../../app/session/user-context.tsx'
import { Waiting } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { emptyGraph, type GraphData, graphOf, joined, neighboursOf } from '../../components/graph/graph-data.ts'
import { GraphExplorer } from '../../components/graph/graph-explorer.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { useImpact, usePath } from './findings.ts'
import { topologyMessages } from './messages.ts'
import { ThingActions } from './node-actions.tsx'
import { ImpactNotice, PathNotice } from './notices.tsx'
import { TimeNotice } from './time-notice.tsx'
import { type Asked, useTopology } from './topology-data.ts'
import { TopologyTools } from './topology-tools.tsx'

/** How many things are drawn before somebody asks for more. */
const usualLimit = 5_500
const mostThings = 10_000

export type TopologySearch = 'q' | 'predicate' | 'at' | 'with' | 'thing' | 'show' | 'to' | 'many'

/** The plant as a graph, now or at a time, and what hangs on what in it. */
export function TopologyPage() {
  const text = useText(topologyMessages)
  const formats = useFormats()
  const [search, change] = useSearchState<TopologySearch>()
  usePageTitle(text.title)
  const asked: Asked = {
    q: search.q,
    predicate: search.predicate,
    at: search.at,
    with: search.with,
    limit: search.many === undefined ? usualLimit : mostThings,
  }
  const topology = useTopology(asked)
  const [things, relations] = [topology.data.nodes.size, topology.data.edges.size].map(formats.number)
  return (
    <>
      <PageHeader title={text.title} subtitle={text.subtitle} />
      <TopologyTools search={search} change={change} count={text.count(things ?? '', relations ?? '')} />
      <TimeNotice asked={asked} fates={topology.fates} change={change} />
      {topology.isTruncated && (
        <p className="page-note" role="status">
          {text.truncated(formats.number(asked.limit))}
          {asked.limit < mostThings && (
            <IxButton variant="tertiary" onClick={() => change({ many: 'yes' })}>
              {text.showMore(formats.number(mostThings))}
            </IxButton>
          )}
        </p>
      )}
      {topology.isStale && (
        <p className="page-note" role="status">
          {text.stale}
          <IxButton variant="tertiary" onClick={topology.refresh}>
            {text.refresh}
          </IxButton>
        </p>
      )}
      {topology.error !== null ? (
        <ProblemMessage failure={topology.error} onRetry={topology.refresh} />
      ) : topology.isWaiting ? (
        <Waiting />
      ) : topology.data.nodes.size === 0 ? (
        <Nothing isNarrowed={asked.q !== undefined || asked.at !== undefined} onClear={() => change(everything)} />
      ) : (
        <Explorer topology={topology} asked={asked} search={search} change={change} />
      )}
    </>
  )
}

const everything = { q: undefined, predicate: undefined, at: undefined, with: undefined }

function Nothing({ isNarrowed, onClear }: { isNarrowed: boolean; onClear: () => void }) {
  const text = useText(topologyMessages)
  return (
    <EmptyState icon={iconGraph} title={isNarrowed ? text.nothingMatches : text.emptyTitle}>
      <p>{isNarrowed ? text.nothingMatchesHint : text.emptyHint}</p>
      {isNarrowed && (
        <IxButton variant="secondary" onClick={onClear}>
          {text.clear}
        </IxButton>
      )}
    </EmptyState>
  )
}

type ExplorerGiven = {
  topology: ReturnType<typeof useTopology>
  asked: Asked
  search: Partial<Record<TopologySearch, string>>
  change: (changed: Partial<Record<TopologySearch, string | undefined>>) => void
}

function Explorer({ topology, asked, search, change }: ExplorerGiven) {
  const api = useApi()
  const queryClient = useQueryClient()
  const [extra, setExtra] = useState<GraphData>(emptyGraph)
  const { thing: selected, show, to } = search
  const path = usePath({ from: show === 'path' ? selected : undefined, to, at: asked.at })
  const impact = useImpact({ of: show === 'impact' ? selected : undefined, at: asked.at })
  const finding = path?.graph ?? impact?.graph
  const data = useMemo(
    () => [extra, finding ?? emptyGraph].filter(({ nodes }) => nodes.size > 0).reduce(joined, topology.data),
    [topology.data, extra, finding],
  )
  const emphasis = useMemo(() => emphasisOf(data, selected, finding), [data, selected, finding])
  const expand = async (id: string) => {
    const query = { limit: 500, ...(asked.at && { at: asked.at }) }
    const answer = await queryClient.fetchQuery(
      operationQuery(api, ['inventory', 'readGraph'], { params: { id }, query }),
    )
    setExtra((before) => joined(before, graphOf(answer.data)))
  }
  const select = (key: string | undefined) => {
    change({ thing: key, show: undefined, to: undefined })
    const thing = key === undefined ? undefined : data.nodes.get(key)
    // Of what lies at the edge, not everything that it is related to is there yet.
    if (thing?.type === 'asset' && thing.depth > 0) expand(thing.id)
  }
  return (
    <GraphExplorer
      data={data}
      selected={selected}
      onSelect={select}
      emphasis={emphasis}
      fates={topology.fates}
      notice={
        <>
          {path !== undefined && <PathNotice path={path} onDone={() => change({ show: undefined, to: undefined })} />}
          {impact !== undefined && (
            <ImpactNotice impact={impact} data={data} onSelect={select} onDone={() => change({ show: undefined })} />
          )}
        </>
      }
      actions={(thing) => <ThingActions thing={thing} change={change} onExpand={() => expand(thing.id)} />}
    />
  )
}

/** What was found stands out; else what is chosen, with what it is related to. */
function emphasisOf(data: GraphData, selected: string | undefined, finding: GraphData | undefined) {
  if (finding !== undefined) return new Set([...finding.nodes.keys(), ...finding.edges.keys()])
  if (selected === undefined || !data.nodes.has(selected)) return undefined
  return new Set([selected, ...neighboursOf(data, selected).flatMap(({ edge, key }) => [edge.id, key])])
}
