import type { Hierarchy, HierarchyNode, TemplateName } from '@millwright/api/hierarchy.ts'
import { restKey } from '@millwright/api/inventory/topology-groups.ts'
import { iconHierarchy } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useEffect, useRef, useState } from 'react'
import { isFailure } from '../../app/api/failure.ts'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { useCreateDialog } from '../../app/navigation/create-dialog-state.ts'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { Tabs } from '../../components/page/tabs.tsx'
import { assignedShare } from './assigned-share.ts'
import { AssetPanel } from './assignment/asset-panel.tsx'
import { useAssign } from './assignment/assign.ts'
import { AssignmentProgress } from './assignment/assignments.tsx'
import { useCanAssign } from './assignment/can-assign.ts'
import { FailureList } from './assignment/failure-list.tsx'
import type { AssignmentOutcome } from './assignment/outcome.ts'
import { HierarchyActions } from './hierarchy-actions.tsx'
import {
  type NodeProblems,
  useCountRefresh,
  useHierarchies,
  useLastHierarchy,
  useNode,
  usePath,
  usePlaceCounts,
  useProblems,
} from './hierarchy-data.ts'
import { HierarchyFormDialog, templateTitles, useTemplates } from './hierarchy-form-dialog.tsx'
import { hierarchyMessages } from './messages.ts'
import { useMoveNode } from './node/move-node.ts'
import { NodeDetails } from './node/node-details.tsx'
import { NodeFormDialog } from './node/node-form-dialog.tsx'
import { NodeHeader } from './node/node-header.tsx'
import { nodeTypeName } from './node-type-names.ts'
import { type HierarchySearch, type Place, placeOf, searchOfPlace } from './place.ts'
import { NodeBrowser } from './tree/node-browser.tsx'
import { type Dragged, type DropTarget, destinationOf } from './tree/tree-drop.ts'
import { TreeLegend, TreeSigns, useProblemTexts } from './tree/tree-signs.tsx'
import '../assets/assets.css'
import './hierarchy.css'

/** `HierarchyPage` shows a hierarchy as a tree, next to the assets of the selected node. */
export function HierarchyPage() {
  const text = useText(hierarchyMessages)
  usePageTitle(text.title)
  useCountRefresh()
  const [search, change] = useSearchState<HierarchySearch>()
  const [isCreating, setCreating] = useCreateDialog()
  const [template, setTemplate] = useState<TemplateName>()
  const hierarchies = useHierarchies()
  const place = placeOf(search.node)
  // Links from events and audit entries contain only the node, so the hierarchy is read from the node.
  const linked = useNode(search.hierarchy === undefined && place.kind === 'node' ? place.id : undefined)
  const chosen = search.hierarchy ?? linked.data?.hierarchyId
  const [last, setLast] = useLastHierarchy()
  const wanted = chosen ?? last
  useEffect(() => {
    if (chosen !== undefined && chosen !== last) setLast(chosen)
  }, [chosen, last, setLast])
  const create = (suggested?: TemplateName) => {
    setTemplate(suggested)
    setCreating(true)
  }
  return (
    <>
      <QueryState query={hierarchies}>
        {(list) => {
          const hierarchy = list.find(({ id }) => id === wanted) ?? list[0]
          if (hierarchy === undefined) return <NoHierarchy onCreate={create} />
          return <HierarchyView key={hierarchy.id} hierarchy={hierarchy} list={list} onCreate={() => create()} />
        }}
      </QueryState>
      {isCreating && (
        <HierarchyFormDialog
          suggestedTemplate={template}
          onClose={() => setCreating(false)}
          onCreated={(id) => change({ hierarchy: id, node: undefined, add: undefined })}
        />
      )}
    </>
  )
}

function NoHierarchy({ onCreate }: { onCreate: (template?: TemplateName) => void }) {
  const text = useText(hierarchyMessages)
  const language = useLanguage()
  const canWrite = usePermission('glb_hierarchy_write')
  const templates = useTemplates()
  return (
    <>
      <PageHeader title={text.title} />
      <EmptyState icon={iconHierarchy} title={text.noHierarchyTitle}>
        <p>{text.noHierarchyText}</p>
        {canWrite ? (
          <>
            <ul className="templates">
              {templates.map(({ name, levels }) => (
                <li key={name}>
                  <button type="button" className="template-card" onClick={() => onCreate(name)}>
                    <strong>{text[templateTitles[name]]}</strong>
                    <span className="quiet">{levels.map((level) => nodeTypeName(level, language)).join(' › ')}</span>
                  </button>
                </li>
              ))}
            </ul>
            <IxButton onClick={() => onCreate()}>{text.createHierarchy}</IxButton>
          </>
        ) : (
          <p>{text.noHierarchyReader}</p>
        )}
      </EmptyState>
    </>
  )
}

type HierarchyViewProps = { hierarchy: Hierarchy; list: readonly Hierarchy[]; onCreate: () => void }

function HierarchyView({ hierarchy, list, onCreate }: HierarchyViewProps) {
  const text = useText(hierarchyMessages)
  const [search, change] = useSearchState<HierarchySearch>()
  const canWrite = usePermission('glb_hierarchy_write')
  const canAssign = useCanAssign()
  const dragged = useRef<Dragged>(undefined)
  // The parent of the node that the user adds. It is null for a node at the top.
  const [parent, setParent] = useState<HierarchyNode | null>()
  const [renamed, setRenamed] = useState<HierarchyNode>()
  const pathOfRenamed = usePath(renamed?.id)
  const main = useRef<HTMLDivElement>(null)
  const place = placeOf(search.node)
  const counts = usePlaceCounts(hierarchy.id)
  const problems = useProblems(hierarchy.id, undefined).data
  const show = (next: Place) => {
    change({ hierarchy: hierarchy.id, node: searchOfPlace(next), q: undefined, filter: undefined })
    // On a narrow page, the assets are below the tree.
    if (!matchMedia('(max-width: 60rem)').matches) return
    main.current?.focus({ preventScroll: true })
    main.current?.scrollIntoView()
  }
  const select = (id: string | null) => show(id === null ? { kind: 'all' } : { kind: 'node', id })
  const actions = useTreeActions()
  return (
    <>
      <PageHeader title={text.title} subtitle={hierarchy.description || text.subtitle} />
      <AssignmentProgress hierarchyId={hierarchy.id} />
      <div className="hierarchy">
        <section className="hierarchy-side" aria-label={text.nodes}>
          <div className="hierarchy-choice">
            <SelectField
              label={text.hierarchy}
              isLabelUnseen
              value={hierarchy.id}
              onChange={(id) => change({ hierarchy: id, node: undefined })}
              choices={list.map(({ id, name }) => ({ value: id, label: name }))}
            />
            <HierarchyActions
              hierarchy={hierarchy}
              onAdd={() => setParent(null)}
              onCreate={onCreate}
              onDeleted={() => change({ hierarchy: undefined, node: undefined })}
            />
          </div>
          <ul className="hierarchy-places">
            <PlaceItem
              label={text.allAssets}
              count={counts.all}
              problems={problems?.total}
              isChosen={place.kind === 'all'}
              onChoose={() => show({ kind: 'all' })}
            />
            <PlaceItem
              label={text.unassigned}
              count={counts.unassigned}
              // Without assets, there is no such group.
              problems={problems?.byNode.get(restKey)}
              isChosen={place.kind === 'unassigned'}
              onChoose={() => show({ kind: 'unassigned' })}
            />
          </ul>
          <AssignedShare {...counts} />
          <NodeBrowser
            hierarchyId={hierarchy.id}
            selected={place.kind === 'node' ? place.id : undefined}
            onSelect={({ id }) => select(id)}
            onReorder={canWrite ? actions.reorder : undefined}
            onRename={canWrite ? setRenamed : undefined}
            isStored
            hasSigns
            drag={canWrite || canAssign ? { dragged, canMoveNodes: canWrite, onDrop: actions.drop } : undefined}
            empty={
              <div className="tree-note">
                <p>{canWrite ? text.noNodesYet : text.noNodes}</p>
                {canWrite && (
                  <IxButton variant="secondary" onClick={() => setParent(null)}>
                    {text.addTopNode}
                  </IxButton>
                )}
              </div>
            }
          />
          <TreeLegend />
        </section>
        <div className="hierarchy-main" ref={main} tabIndex={-1}>
          <PlaceView
            key={searchOfPlace(place) ?? 'all'}
            {...{ hierarchy, place, dragged, onSelect: select, onAdd: setParent }}
          />
        </div>
      </div>
      {parent !== undefined && (
        <NodeFormDialog
          hierarchy={hierarchy}
          parent={parent ?? undefined}
          parentId={parent?.id ?? null}
          onCreated={({ id }) => select(id)}
          onClose={() => setParent(undefined)}
        />
      )}
      {renamed !== undefined && pathOfRenamed.data !== undefined && (
        <NodeFormDialog
          hierarchy={hierarchy}
          parent={pathOfRenamed.data.at(-2)}
          node={renamed}
          onClose={() => setRenamed(undefined)}
        />
      )}
      {actions.problem !== undefined && (
        <Dialog title={text.notDone} onClose={actions.dismiss}>
          {'failures' in actions.problem ? (
            <FailureList failures={actions.problem.failures} />
          ) : (
            <ProblemMessage failure={actions.problem.failure} />
          )}
        </Dialog>
      )}
    </>
  )
}

type PlaceItemProps = {
  label: string
  count: number | undefined
  problems: NodeProblems | undefined
  isChosen: boolean
  onChoose: () => void
}

/** `PlaceItem` has the same columns as a node of the tree. The tooltip contains all numbers. */
function PlaceItem({ label, count, problems, isChosen, onChoose }: PlaceItemProps) {
  const formats = useFormats()
  const texts = useProblemTexts()
  const health = problems === undefined ? [] : texts(problems)
  return (
    <li>
      <button
        type="button"
        className="group-item place-item"
        aria-current={isChosen ? 'true' : undefined}
        title={[label, ...health].join('\n')}
        onClick={onChoose}
      >
        <span className="tree-name">
          <span className="tree-label">{label}</span>
          {problems !== undefined && <TreeSigns problems={problems} />}
        </span>
        {count !== undefined && <span className="tree-count">{formats.number(count)}</span>}
        <span className="unseen">{health.map((part) => `, ${part}`).join('')}</span>
      </button>
    </li>
  )
}

/** `AssignedShare` shows how many of all assets have a node of the hierarchy. */
function AssignedShare({ all, unassigned }: ReturnType<typeof usePlaceCounts>) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  if (all === undefined || unassigned === undefined || all === 0) return null
  const assigned = Math.max(0, all - unassigned)
  return <p className="hierarchy-share quiet">{text.assignedShare(formats.percent(assignedShare(assigned, all)))}</p>
}

type TreeProblem = { failure: unknown } | { failures: AssignmentOutcome['failures'] }

/**
 * Returns the actions that the user runs in the tree with drag and drop or with the keyboard. A problem is shown in a
 * dialog.
 */
function useTreeActions() {
  const canWrite = usePermission('glb_hierarchy_write')
  const canAssign = useCanAssign()
  const move = useMoveNode()
  const { assign } = useAssign()
  const [problem, setProblem] = useState<TreeProblem>()
  const run = (act: () => Promise<unknown>) => act().catch((failure) => setProblem({ failure }))
  const drop = (moved: Dragged, target: DropTarget) =>
    run(async () => {
      if (moved.kind === 'node' && canWrite) {
        await move(moved.node, destinationOf(moved.node, target))
      } else if (moved.kind === 'assets' && canAssign) {
        const { failures } = await assign(target.node, moved.ids)
        moved.onAssigned()
        if (failures.length > 0) setProblem({ failures })
      }
    })
  const reorder = (node: HierarchyNode, step: 1 | -1) => {
    if (node.position + step < 0) return
    run(() => move(node, { position: node.position + step }))
  }
  return { drop, reorder, problem, dismiss: () => setProblem(undefined) }
}

type PlaceViewProps = {
  hierarchy: Hierarchy
  place: Place
  dragged: React.RefObject<Dragged | undefined>
  onSelect: (id: string | null) => void
  /** Adds a node below another node. */
  onAdd: (parent: HierarchyNode) => void
}

function PlaceView({ hierarchy, place, dragged, onSelect, onAdd }: PlaceViewProps) {
  const text = useText(hierarchyMessages)
  const [search, change] = useSearchState<HierarchySearch>()
  const node = useNode(place.kind === 'node' ? place.id : undefined)
  if (place.kind !== 'node') {
    return (
      <>
        <header className="node-header">
          <h2>{place.kind === 'all' ? text.allAssets : text.unassigned}</h2>
          {place.kind === 'unassigned' && <p className="quiet">{text.unassignedText(hierarchy.name)}</p>}
        </header>
        <AssetPanel hierarchy={hierarchy} place={place} node={undefined} dragged={dragged} />
      </>
    )
  }
  if (isFailure(node.error, 'not_found') && node.data === undefined) {
    return (
      <EmptyState icon={iconHierarchy} title={text.nodeNotFound}>
        <p>{text.nodeNotFoundHint}</p>
        <IxButton variant="secondary" onClick={() => onSelect(null)}>
          {text.allAssets}
        </IxButton>
      </EmptyState>
    )
  }
  return (
    <QueryState query={node}>
      {(data) => (
        <>
          <NodeHeader hierarchy={hierarchy} node={data} onSelect={onSelect} onAdd={() => onAdd(data)} />
          <Tabs
            label={text.views}
            tabs={[
              { id: 'assets', label: text.assets },
              { id: 'details', label: text.details },
            ]}
            chosen={search.view === 'details' ? 'details' : 'assets'}
            onChoose={(view) => change({ view: view === 'assets' ? undefined : view })}
          >
            {search.view === 'details' ? (
              <NodeDetails node={data} />
            ) : (
              <AssetPanel hierarchy={hierarchy} place={place} node={data} dragged={dragged} />
            )}
          </Tabs>
        </>
      )}
    </QueryState>
  )
}
