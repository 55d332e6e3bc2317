import type { HierarchyNode, Move } from '@millwright/api/hierarchy.ts'
import { useQuery } from '@tanstack/react-query'
import { isFailure } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { KeyFigures } from '../../../components/values/key-figures.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { NodeWindowCard } from '../../updates/windows/node-window-card.tsx'
import { useAverageOutdated, usePath, useProblems } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { nodeTypeName } from '../node-type-names.ts'
import { OutdatedBar } from '../tree/outdated-bar.tsx'

/** `NodeDetails` shows the health and the properties of a node, and how the node was moved. */
export function NodeDetails({ node }: { node: HierarchyNode }) {
  const text = useText(hierarchyMessages)
  const language = useLanguage()
  const formats = useFormats()
  const canReadWindow = usePermission('glb_jobs_read')
  const { health } = node
  const outdated = useProblems(node.hierarchyId, node.id).data?.total.outdated
  const average = useAverageOutdated(node.hierarchyId)
  const figures = [
    [text.assetsBelow, node.totalAssetCount],
    [text.assetsHere, node.assetCount],
    [text.undecided, health.undecided],
    [text.changed, health.changed],
    [text.offline, health.offline],
    ...(outdated === undefined ? [] : [[text.outdated, outdated] as const]),
  ] as const
  return (
    <div className="cards">
      <Card title={text.health} size="wide">
        {outdated !== undefined && node.totalAssetCount > 0 && (
          <>
            <OutdatedBar outdated={outdated} assets={node.totalAssetCount} average={average} />
            <p className="quiet">{text.outdatedShare(formats.percent(outdated / node.totalAssetCount))}</p>
          </>
        )}
        <div className="node-health">
          <KeyFigures figures={figures.map(([name, count]) => ({ name, value: formats.number(count) }))} />
        </div>
      </Card>
      <Card title={text.node}>
        <KeyValueList
          items={[
            node.type !== undefined && { name: text.type, value: nodeTypeName(node.type, language) },
            ...Object.entries(node.properties).map(([name, value]) => ({ name, value })),
            { name: text.nodesBelow, value: formats.number(node.childCount) },
            { name: text.created, value: <Time at={node.createdTimestamp} /> },
            { name: text.lastChanged, value: <Time at={node.lastModifiedTimestamp} /> },
            { name: 'ID', value: <code>{node.id}</code> },
          ]}
        />
      </Card>
      {canReadWindow && <NodeWindowCard nodeId={node.id} />}
      <Card title={text.moves}>
        <Moves nodeId={node.id} />
      </Card>
    </div>
  )
}

function Moves({ nodeId }: { nodeId: string }) {
  const text = useText(hierarchyMessages)
  const query = useOperationQuery()
  const moves = useQuery(
    query(['hierarchy', 'listMoves'], { params: { id: nodeId }, query: { limit: 50 } }, { live: ['hierarchy'] }),
  )
  return (
    <QueryState query={moves}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="quiet">{text.noMoves}</p>
        ) : (
          <ol className="timeline">
            {data.map((move) => (
              <li key={move.id}>
                <Time at={move.time} />
                <MoveText move={move} />
                <span className="quiet">{move.principalName}</span>
              </li>
            ))}
          </ol>
        )
      }
    </QueryState>
  )
}

function MoveText({ move: { fromParentId, fromPosition, toParentId, toPosition } }: { move: Move }) {
  const text = useText(hierarchyMessages)
  if (fromParentId === toParentId) return <span>{text.reordered(fromPosition + 1, toPosition + 1)}</span>
  return (
    <span>
      <ParentName id={fromParentId} /> → <ParentName id={toParentId} />
    </span>
  )
}

function ParentName({ id }: { id: string | null }) {
  const text = useText(hierarchyMessages)
  const path = usePath(id ?? undefined)
  if (id === null) return text.topLevel
  if (isFailure(path.error, 'not_found')) return text.deletedNode
  return path.data?.map(({ name }) => name).join(' › ') ?? '…'
}
