import { assignmentPredicate } from '@millwright/api/assignment-predicate.ts'
import { impactModes } from '@millwright/api/inventory/impact.ts'
import { iconArrowLeft } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Output } from '../../app/api/client.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { assetKey, graphOf, labelOf } from '../../components/graph/graph-data.ts'
import { NodePanel } from '../../components/graph/node-panel.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { assetIn, usePath } from './graph-queries.ts'
import { ImpactPanel } from './impact/impact-panel.tsx'
import { impactMessages } from './impact/messages.ts'
import { mapMessages } from './map-messages.ts'
import { NodeActions } from './node-actions.tsx'
import { PathNotice } from './path-notice.tsx'
import type { ChangeTopologySearch } from './topology-search.ts'

type Related = Output<'inventory', 'readGraph'>['data']

type AssetPanelProps = {
  id: string
  at: string | undefined
  show: string | undefined
  to: string | undefined
  /** The hierarchy in which the asset can be located, if it is not on the map. */
  hierarchy: string | undefined
  onLocate: (node: string) => void
  change: ChangeTopologySearch
  onSelect: (id: string | undefined) => void
}

const maxRelated = 500

/** Leaves out the nodes of hierarchies. The map and the path above it show where the asset is. */
function withoutAssignments({ nodes, edges, ...others }: Related): Related {
  return {
    ...others,
    nodes: nodes.filter(({ type }) => type === 'asset'),
    edges: edges.filter(({ predicate }) => predicate !== assignmentPredicate),
  }
}

/** `AssetPanel` shows the selected asset, its relations, and the actions for it. */
export function AssetPanel({ id, at, show, to, hierarchy, onLocate, change, onSelect }: AssetPanelProps) {
  const text = useText(impactMessages)
  const mapText = useText(mapMessages)
  const query = useOperationQuery()
  const result = useQuery(
    query(['inventory', 'readGraph'], {
      params: { id },
      query: { limit: maxRelated, ...(at !== undefined && { at }) },
    }),
  )
  const related = result.data?.data
  const graph = useMemo(() => (related === undefined ? undefined : graphOf(withoutAssignments(related))), [related])
  const paths = useQuery({
    ...query(['hierarchy', 'listAssetPaths'], { params: { id } }),
    enabled: hierarchy !== undefined,
  })
  const place = paths.data?.data.find(({ hierarchyId }) => hierarchyId === hierarchy)?.path.at(-1)?.id
  const path = usePath({ from: show === 'path' ? id : undefined, to, at })
  const node = graph?.nodes.get(assetKey(id))
  if (result.error !== null) return <ProblemMessage failure={result.error} onRetry={() => result.refetch()} />
  if (graph === undefined || node === undefined) return <Loading />
  const mode = impactModes.find((each) => each === show)
  if (mode !== undefined)
    return (
      <div className="graph-node">
        <button type="button" className="link-button graph-node-back" onClick={() => change({ show: undefined })}>
          <Icon name={iconArrowLeft} size={16} />
          {labelOf(node)}
        </button>
        <h2 className="graph-node-name">{text.impact}</h2>
        <ImpactPanel
          asset={{ id, name: labelOf(node) }}
          mode={mode}
          onMode={(next) => change({ show: next })}
          isCompact
          onSelect={onSelect}
        />
      </div>
    )
  return (
    <>
      {path !== undefined && <PathNotice path={path} onDone={() => change({ show: undefined, to: undefined })} />}
      <NodePanel
        data={graph}
        node={node}
        onSelect={(key) => onSelect(assetIn(key))}
        actions={
          <>
            {place !== undefined && (
              <IxButton variant="secondary" onClick={() => onLocate(place)}>
                {mapText.locate}
              </IxButton>
            )}
            <NodeActions node={node} change={change} />
          </>
        }
      />
    </>
  )
}
