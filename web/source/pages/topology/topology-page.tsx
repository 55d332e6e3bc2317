import { impactModes } from '@millwright/api/inventory/impact.ts'
import { groupings } from '@millwright/api/inventory/topology-groups.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { ExportButton } from '../files/export/export-dialog.tsx'
import { useImpact } from './impact/impact-panel.tsx'
import { impactMessages } from './impact/messages.ts'
import { layouts } from './map/arrangement.ts'
import { mapMessages } from './map-messages.ts'
import { MapTools } from './map-tools.tsx'
import { TopologyMap } from './topology-map.tsx'
import type { TopologySearch } from './topology-search.ts'
import './topology.css'

/** `TopologyPage` shows the plant as a map: groups of assets that open on a click, now or at an earlier time. */
export function TopologyPage() {
  const text = useText(mapMessages)
  const [search, change] = useSearchState<TopologySearch>()
  const query = useOperationQuery()
  const mode = impactModes.find((each) => each === search.show)
  const impact = useImpact(mode === undefined ? undefined : search.asset, mode ?? 'depends').data?.data
  const impactText = useText(impactMessages)
  const title = impact === undefined ? text.title : impactText.impactOf(impact.asset.name || text.unnamed)
  usePageTitle(title)
  const canReadHierarchies = usePermission('glb_hierarchy_read')
  const listed = useQuery({
    ...query(['hierarchy', 'listHierarchies'], { query: { limit: 100 } }),
    enabled: canReadHierarchies,
  })
  const hierarchies = listed.data?.data ?? []
  const isLoading = canReadHierarchies && listed.isPending
  const offered = groupings.filter((each) => each !== 'hierarchy' || hierarchies.length > 0)
  const by = offered.find((each) => each === search.by) ?? offered[0] ?? 'subnet'
  const hierarchy = hierarchies.find(({ id }) => id === search.hierarchy)?.id ?? hierarchies[0]?.id
  const hasNetworks = search.in === undefined && search.all === undefined
  const subtitles = {
    hierarchy: text.subtitleHierarchy,
    subnet: text.subtitleSubnet,
    switch: hasNetworks ? text.subtitleNetworks : text.subtitleSwitch,
  }
  const subtitle = search.compare === undefined ? subtitles[by] : text.subtitleChanges
  const layout = layouts.find((each) => each === search.layout) ?? (by === 'switch' ? 'network' : 'hierarchy')
  return (
    <>
      <PageHeader
        title={title}
        subtitle={
          impact === undefined ? subtitle : impact.mode === 'fails' ? impactText.hintFails : impactText.hintDepends
        }
        actions={
          <>
            <Link to={'/topology/impact' as never} className="map-reports">
              {text.reports}
            </Link>
            {
              // The panel of an impact contains its own export.
              mode === undefined && (
                <ExportButton what="graph" selection={search.q === undefined ? {} : { q: search.q }} />
              )
            }
          </>
        }
      />
      {listed.error !== null ? (
        <ProblemMessage failure={listed.error} onRetry={() => listed.refetch()} />
      ) : isLoading ? (
        <Loading />
      ) : (
        <>
          <MapTools
            by={by}
            offered={offered}
            hierarchies={hierarchies}
            hierarchy={hierarchy}
            layout={layout}
            q={search.q ?? ''}
            isAll={search.all !== undefined}
            change={change}
          />
          <TopologyMap
            // A new grouping is a new map: its open groups and its camera start again.
            key={`${by} ${hierarchy}`}
            by={by}
            hierarchy={hierarchy}
            hierarchyName={hierarchies.find(({ id }) => id === hierarchy)?.name}
            layout={layout}
            search={search}
            change={change}
          />
        </>
      )}
    </>
  )
}
