import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
import { iconChevronDownSmall, iconChevronRightSmall } from '@siemens/ix-icons/icons'
import {
  type CSSProperties,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from 'react'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { type NodeProblems, useChildren, useProblems } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { nodeTypeName } from '../node-type-names.ts'
import { type Dragged, type DropTarget, sideAt } from './tree-drop.ts'
import { treeStep } from './tree-keys.ts'
import { TreeSigns, useProblemTexts } from './tree-signs.tsx'

/** `TreeDrag` contains the state and the handler for drag and drop in a tree. */
export type TreeDrag = {
  /** The node or the assets that the user drags at this moment. The list of assets next to the tree sets it too. */
  dragged: RefObject<Dragged | undefined>
  canMoveNodes: boolean
  onDrop: (dragged: Dragged, target: DropTarget) => void
}

type TreeProps = {
  label: string
  hierarchyId: string
  selected: string | undefined
  onSelect: (node: HierarchyNode) => void
  expanded: ReadonlySet<string>
  onExpand: (id: string, isExpanded: boolean) => void
  /**
   * Moves a node one position up or down among its siblings. The tree calls this function when the user presses Alt and
   * an arrow key.
   */
  onReorder?: ((node: HierarchyNode, step: 1 | -1) => void) | undefined
  /** Renames a node. The tree calls this function when the user presses F2. */
  onRename?: ((node: HierarchyNode) => void) | undefined
  drag?: TreeDrag | undefined
  /** Whether the tree shows the problems of each node. */
  hasSigns?: boolean
  /** The content that is shown for a hierarchy without nodes. */
  empty: ReactNode
}

/** `TreeState` is the state that all rows of the tree share. */
type TreeState = Omit<TreeProps, 'label' | 'empty'> & {
  current: string | undefined
  setCurrent: (id: string) => void
  drop: DropTarget | undefined
  setDrop: (target: DropTarget | undefined) => void
  onKey: (event: KeyboardEvent<HTMLElement>, node?: HierarchyNode) => void
}

/**
 * `Tree` shows the nodes of a hierarchy, and loads the children of a node when the node is expanded. It follows the
 * tree view pattern of WAI-ARIA: arrow keys, Home and End move the focus, and Enter selects a node.
 */
export function Tree({ label, empty, ...props }: TreeProps) {
  const { hierarchyId, selected, onExpand, onReorder, onRename } = props
  const tree = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState(selected)
  const [drop, setDrop] = useState<DropTarget>()
  const reordered = useRef<string>(undefined)
  const top = useChildren(hierarchyId, undefined)
  useEffect(() => setCurrent(selected), [selected])
  // One row of the tree must always be able to receive the focus, even if the current row is hidden, deleted or not
  // loaded yet.
  useEffect(() => {
    const items = itemsIn(tree.current)
    if (!items.some(({ tabIndex }) => tabIndex === 0)) setCurrent(items[0]?.dataset.node)
    // The focus is set again, because the browser removes it from a row that moves in the document.
    if (reordered.current === undefined || document.activeElement !== document.body) return
    items.find(({ dataset }) => dataset.node === reordered.current)?.focus()
  })
  const onKey = (event: KeyboardEvent<HTMLElement>, node?: HierarchyNode) => {
    if (event.ctrlKey || event.metaKey) return
    const items = itemsIn(tree.current)
    const step = treeStep(event.key, items.map(rowOf), items.indexOf(event.currentTarget))
    const isReorder = event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')
    reordered.current = isReorder ? node?.id : undefined
    if (isReorder && node !== undefined) onReorder?.(node, event.key === 'ArrowUp' ? -1 : 1)
    else if (event.key === 'F2' && node !== undefined && onRename !== undefined) onRename(node)
    else if (event.key === 'Enter' || event.key === ' ') event.currentTarget.click()
    else if (step !== undefined && 'focus' in step) items[step.focus]?.focus()
    else if (step !== undefined && node !== undefined) onExpand(node.id, step.expand)
    else return
    event.preventDefault()
  }
  if (top.error !== null && top.data === undefined) {
    return <ProblemMessage failure={top.error} onRetry={() => top.refetch()} />
  }
  if (top.data === undefined) return <Loading />
  if (top.data.length === 0) return empty
  const state = { ...props, current, setCurrent, drop, setDrop, onKey }
  return (
    <div className="tree" role="tree" aria-label={label} ref={tree}>
      <Branch state={state} parent={undefined} />
    </div>
  )
}

/** `Branch` renders the children of a node. Each expanded child is followed by its own branch. */
function Branch({ state, parent }: { state: TreeState; parent: HierarchyNode | undefined }) {
  const text = useText(hierarchyMessages)
  const { hierarchyId, expanded, current, setCurrent, onKey } = state
  const children = useChildren(hierarchyId, parent?.id)
  const { hasSigns = false } = state
  const problems = useProblems(hierarchyId, parent?.id, { isEnabled: hasSigns })
  const level = parent === undefined ? 0 : parent.level + 1
  const nodes = children.data
  if (nodes === undefined) {
    return children.error === null ? (
      <div className="tree-note" role="none" style={indent(level)}>
        {text.loading}
      </div>
    ) : (
      <div role="none">
        <ProblemMessage failure={children.error} onRetry={() => children.refetch()} />
      </div>
    )
  }
  const moreId = `more-${parent?.id ?? 'top'}`
  return (
    <>
      {problems.isLoadingError && (
        <div role="none">
          <ProblemMessage failure={problems.error} onRetry={() => problems.refetch()} />
        </div>
      )}
      {nodes.map((node, index) => (
        <div role="none" key={node.id}>
          <TreeItem
            state={state}
            node={node}
            problems={problems.data?.byNode.get(node.id)}
            isLoadingProblems={problems.isLoading}
            place={index + 1}
            count={children.hasNextPage ? -1 : nodes.length}
          />
          {expanded.has(node.id) && node.childCount > 0 && <Branch state={state} parent={node} />}
        </div>
      ))}
      {children.hasNextPage && (
        <div
          role="treeitem"
          className="tree-item tree-more"
          aria-level={level + 1}
          aria-selected={false}
          data-node={moreId}
          tabIndex={current === moreId ? 0 : -1}
          style={indent(level)}
          onFocus={() => setCurrent(moreId)}
          onKeyDown={(event) => onKey(event)}
          onClick={() => children.fetchNextPage()}
        >
          {children.isFetchingNextPage ? text.loading : text.showMore}
        </div>
      )}
    </>
  )
}

type TreeItemProps = {
  state: TreeState
  node: HierarchyNode
  /** The problems of the assets. They are undefined until they are loaded. */
  problems: NodeProblems | undefined
  isLoadingProblems: boolean
  place: number
  count: number
}

function TreeItem({ state, node, problems, isLoadingProblems, place, count }: TreeItemProps) {
  const text = useText(hierarchyMessages)
  const language = useLanguage()
  const formats = useFormats()
  const { selected, expanded, current, setCurrent, onSelect, onExpand, onKey, drag, drop } = state
  const isExpandable = node.childCount > 0
  const isExpanded = isExpandable && expanded.has(node.id)
  const type = node.type === undefined ? '' : nodeTypeName(node.type, language)
  const counts = problems ?? { unreachable: node.health.offline, stopped: 0, lastStopped: 0, outdated: undefined }
  const health = useProblemTexts()(counts)
  const assets = text.assetCount(node.totalAssetCount, formats.number(node.totalAssetCount))
  return (
    <div
      role="treeitem"
      className="tree-item"
      aria-level={node.level + 1}
      aria-posinset={place}
      aria-setsize={count}
      aria-selected={node.id === selected}
      aria-expanded={isExpandable ? isExpanded : undefined}
      aria-busy={isLoadingProblems || undefined}
      aria-keyshortcuts={state.onReorder === undefined ? undefined : 'Alt+ArrowUp Alt+ArrowDown F2'}
      data-node={node.id}
      data-name={node.name}
      data-drop={drop?.node.id === node.id ? drop.side : undefined}
      tabIndex={node.id === current ? 0 : -1}
      style={indent(node.level)}
      title={[node.name, type, assets, ...health].filter((part) => part !== '').join('\n')}
      onFocus={() => setCurrent(node.id)}
      onKeyDown={(event) => onKey(event, node)}
      onClick={({ target }) => {
        if (isExpandable && (target as HTMLElement).closest('.tree-toggle') !== null) onExpand(node.id, !isExpanded)
        else onSelect(node)
      }}
      {...(drag !== undefined && dragHandlers(state, drag, node))}
    >
      <span className="tree-toggle" aria-hidden="true">
        {isExpandable && <Icon name={isExpanded ? iconChevronDownSmall : iconChevronRightSmall} size={16} />}
      </span>
      <span className="tree-name">
        <span className="tree-label">{node.name}</span>
        {state.hasSigns && <TreeSigns problems={counts} />}
        {isLoadingProblems && node.totalAssetCount > 0 && (
          <span className="quiet" aria-hidden="true">
            …
          </span>
        )}
      </span>
      {/* The signs take the room of the type, which the tooltip contains. */}
      {type !== '' && !state.hasSigns && <span className="tree-type">{type}</span>}
      <span className="tree-count" aria-hidden="true">
        {formats.number(node.totalAssetCount)}
      </span>
      <span className="unseen">{`${state.hasSigns ? type : ''} ${[assets, ...health].join(', ')}`.trim()}</span>
    </div>
  )
}

function dragHandlers(
  { setDrop, drop, onExpand }: TreeState,
  { dragged, canMoveNodes, onDrop }: TreeDrag,
  node: HierarchyNode,
) {
  const targetAt = ({ currentTarget, clientY }: DragEvent<HTMLElement>): DropTarget | undefined => {
    const moved = dragged.current
    if (moved === undefined || (moved.kind === 'node' && moved.node.id === node.id)) return undefined
    const { top, height } = currentTarget.getBoundingClientRect()
    return { node, side: sideAt(moved.kind, (clientY - top) / height) }
  }
  return {
    draggable: canMoveNodes,
    onDragStart(event: DragEvent<HTMLElement>) {
      dragged.current = { kind: 'node', node }
      event.dataTransfer.effectAllowed = 'move'
      event.dataTransfer.setData('text/plain', node.name)
    },
    onDragOver(event: DragEvent<HTMLElement>) {
      const target = targetAt(event)
      if (target === undefined) return
      event.preventDefault()
      if (drop?.node.id !== node.id || drop.side !== target.side) setDrop(target)
    },
    onDragLeave() {
      if (drop?.node.id === node.id) setDrop(undefined)
    },
    onDrop(event: DragEvent<HTMLElement>) {
      const target = targetAt(event)
      const moved = dragged.current
      setDrop(undefined)
      if (target === undefined || moved === undefined) return
      event.preventDefault()
      dragged.current = undefined
      if (moved.kind === 'node' && target.side === 'into') onExpand(node.id, true)
      onDrop(moved, target)
    },
    onDragEnd() {
      dragged.current = undefined
      setDrop(undefined)
    },
  }
}

function indent(level: number): CSSProperties {
  return { '--tree-level': level } as CSSProperties
}

function itemsIn(tree: HTMLElement | null): HTMLElement[] {
  return [...(tree?.querySelectorAll<HTMLElement>('[role=treeitem]') ?? [])]
}

function rowOf(item: HTMLElement) {
  return {
    level: Number(item.getAttribute('aria-level')),
    name: item.dataset.name ?? '',
    isExpandable: item.hasAttribute('aria-expanded'),
    isExpanded: item.getAttribute('aria-expanded') === 'true',
  }
}
