import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { useChildren, usePath } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { hasStored, loadExpanded, saveExpanded } from './expanded-nodes.ts'
import { Tree, type TreeDrag } from './tree.tsx'

type NodeBrowserProps = {
  hierarchyId: string
  selected: string | undefined
  onSelect: (node: HierarchyNode) => void
  onReorder?: ((node: HierarchyNode, step: 1 | -1) => void) | undefined
  onRename?: ((node: HierarchyNode) => void) | undefined
  drag?: TreeDrag | undefined
  empty: ReactNode
  /** Whether the tree shows the problems of each node. */
  hasSigns?: boolean
  /** Whether the expanded nodes are stored for the browser tab. */
  isStored?: boolean
}

/** The number of nodes at the top that the first visit of a hierarchy expands. */
const maxExpandedTops = 5

/** `NodeBrowser` lets the user select a node in the tree, or search for it by a part of its name. */
export function NodeBrowser({ hierarchyId, selected, onSelect, isStored = false, ...props }: NodeBrowserProps) {
  const text = useText(hierarchyMessages)
  const [q, setQ] = useState('')
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() =>
    isStored ? loadExpanded(sessionStorage, hierarchyId) : new Set(),
  )
  // The first visit shows the first two levels. Later visits show the nodes that the user expanded.
  const [isFirstVisit] = useState(() => isStored && !hasStored(sessionStorage, hierarchyId))
  const tops = useChildren(hierarchyId, undefined).data
  const shownTops = isFirstVisit && tops !== undefined && tops.length <= maxExpandedTops ? tops : undefined
  const topIds = shownTops?.map(({ id }) => id).join(',')
  const isOpened = useRef(false)
  useEffect(() => {
    if (topIds === undefined || topIds === '' || isOpened.current) return
    isOpened.current = true
    setExpanded((before) => new Set([...before, ...topIds.split(',')]))
  }, [topIds])
  useEffect(() => {
    if (isStored) saveExpanded(sessionStorage, hierarchyId, expanded)
  }, [isStored, hierarchyId, expanded])
  const path = usePath(selected)
  const pathIds = path.data?.map(({ id }) => id).join(',')
  useEffect(() => {
    const above = pathIds?.split(',').slice(0, -1) ?? []
    if (above.length > 0) setExpanded((before) => new Set([...before, ...above]))
  }, [pathIds])
  const expand = (id: string, isExpanded: boolean) =>
    setExpanded((before) => new Set(isExpanded ? [...before, id] : [...before].filter((each) => each !== id)))
  return (
    <div className="node-browser">
      <SearchField value={q} onChange={setQ} label={text.searchNodes} hint={text.searchNodesHint} />
      {q === '' ? (
        <Tree
          {...props}
          label={text.tree}
          hierarchyId={hierarchyId}
          selected={selected}
          onSelect={onSelect}
          expanded={expanded}
          onExpand={expand}
        />
      ) : (
        <NodeMatches
          hierarchyId={hierarchyId}
          q={q}
          onSelect={(node) => {
            setQ('')
            onSelect(node)
          }}
        />
      )}
    </div>
  )
}

/** The maximum number of search results. It is low, because the path of each result is loaded separately. */
const maxMatches = 20

type NodeMatchesProps = { hierarchyId: string; q: string; onSelect: (node: HierarchyNode) => void }

function NodeMatches({ hierarchyId, q, onSelect }: NodeMatchesProps) {
  const text = useText(hierarchyMessages)
  const query = useOperationQuery()
  const matches = useQuery({
    ...query(['hierarchy', 'listNodes'], { params: { id: hierarchyId }, query: { q, limit: maxMatches } }),
    placeholderData: (before) => before,
  })
  return (
    <QueryState query={matches}>
      {({ data, meta }) => (
        <>
          <ul className="node-matches" aria-label={text.matches}>
            {data.map((node) => (
              <li key={node.id}>
                <button type="button" className="node-match" onClick={() => onSelect(node)}>
                  <span>{node.name}</span>
                  <PathText id={node.id} />
                </button>
              </li>
            ))}
          </ul>
          <p className="tree-note" role="status">
            {data.length === 0 ? text.noMatches : meta.nextCursor !== undefined && text.moreMatches}
          </p>
        </>
      )}
    </QueryState>
  )
}

/** `PathText` shows the names of the nodes above a node. */
function PathText({ id }: { id: string }) {
  const { data = [] } = usePath(id)
  return (
    <span className="node-match-path">
      {data
        .slice(0, -1)
        .map(({ name }) => name)
        .join(' › ')}
    </span>
  )
}
