import type { Hierarchy, HierarchyNode } from '@millwright/api/hierarchy.ts'
import { iconFilter, iconFilterFilled, iconProductManagement } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { type RefObject, useCallback, useMemo, useState } from 'react'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePreference } from '../../../app/preferences/preference.ts'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { CheckField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { Grid } from '../../../components/tables/grid.tsx'
import type { GridColumn } from '../../../components/tables/grid-column.ts'
import { FilterPanel } from '../../assets/filter/filter-panel.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import type { Asset } from '../../assets/model/asset.ts'
import { conditionPath, groupedPaths, placePath, productPath } from '../../assets/model/asset-property.ts'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { gridColumns } from '../../assets/table/asset-cells.tsx'
import { conditionFields, fieldsFor, type NodeScope, useAssetList } from '../../assets/table/asset-list.ts'
import { useMonitoredStates } from '../../assets/table/asset-states.ts'
import { shownColumns } from '../../assets/table/export-columns.ts'
import { usePageRange, visiblePages } from '../../assets/table/page-range.ts'
import { useAssetSelection } from '../../assets/table/selection.ts'
import { tableColumnsOf } from '../../assets/table/table-columns.ts'
import { ExportButton } from '../../files/export/export-dialog.tsx'
import { useNewestVersion } from '../../start/newest-version.ts'
import { hierarchyMessages } from '../messages.ts'
import type { HierarchySearch, Place } from '../place.ts'
import type { Dragged } from '../tree/tree-drop.ts'
import { AssignDialog, type AssignmentSubject } from './assign-dialog.tsx'
import { useCanAssign } from './can-assign.ts'
import { useNodeColumn } from './node-column.tsx'
import { SelectionBar } from './selection-bar.tsx'

type AssetPanelProps = {
  hierarchy: Hierarchy
  place: Place
  /** The selected node. It is undefined unless `place` is a node. */
  node: HierarchyNode | undefined
  /** The panel sets `dragged.current` to the assets that the user drags. */
  dragged: RefObject<Dragged | undefined>
}

const idOf = ({ id }: Asset) => id

/** The least widths next to the tree, at which the names of assets and the conditions are not cut. Products are never cut. */
const leastWidths: Readonly<Record<string, number | undefined>> = {
  name: 235,
  [productPath]: undefined,
  [conditionPath]: 145,
}

function withLeastWidth(column: GridColumn<Asset>): GridColumn<Asset> {
  return column.id in leastWidths && !column.isFixed ? { ...column, minWidth: leastWidths[column.id] } : column
}

function scopeOf(hierarchy: Hierarchy, place: Place, includeBelow: boolean): NodeScope | undefined {
  if (place.kind === 'all') return undefined
  return place.kind === 'node' ? { hierarchyNode: place.id, includeBelow } : { unassignedIn: hierarchy.id }
}

/**
 * `AssetPanel` lists the assets of a node, the unassigned assets, or all assets. The user can assign selected assets to
 * a node.
 */
export function AssetPanel({ hierarchy, place, node, dragged }: AssetPanelProps) {
  const text = useText(hierarchyMessages)
  const language = useLanguage()
  const formats = useFormats()
  const navigate = useNavigate()
  const canAssign = useCanAssign()
  const [search, change] = useSearchState<HierarchySearch>()
  const { q = '', filter = '', sort = 'name' } = search
  const isBelow = search.below !== 'no'
  const [isFilterOpen, setFilterOpen] = useState(filter !== '')
  const [subject, setSubject] = useState<AssignmentSubject>()
  const properties = useAssetProperties()
  const [stored] = usePreference<unknown>('assets.columns', undefined)
  // The table has its own column for the node.
  const columns = useMemo(
    () => tableColumnsOf(stored, properties, groupedPaths).filter(({ path }) => path !== placePath),
    [stored, properties],
  )
  const fields = columns.flatMap(({ path }) => properties.find((each) => each.path === path)?.field ?? [])
  const scope = scopeOf(hierarchy, place, isBelow)
  const pages = useAssetList({ filter, q, sort, fields: fieldsFor([...fields, ...conditionFields]), scope })
  const selection = useAssetSelection(pages, { filter, q, scope })
  const [range, setRange] = usePageRange()
  const newestVersion = useNewestVersion()
  const hasCondition = columns.some(({ path }) => path === conditionPath)
  const stateOf = useMonitoredStates(hasCondition ? visiblePages(pages, range) : [])
  const assetColumns = useMemo(
    () => gridColumns(columns, properties, language, { newestVersion, stateOf }).map(withLeastWidth),
    [columns, properties, language, newestVersion, stateOf],
  )
  const nodeColumn = useNodeColumn({
    hierarchyId: hierarchy.id,
    nodeId: node?.id,
    pages,
    range,
    // All assets of a node without children have the same node.
    isShown: place.kind === 'all' || (node !== undefined && isBelow && node.childCount > 0),
  })
  const shown = useMemo(() => {
    const pinned = assetColumns.findLastIndex(({ isPinned }) => isPinned) + 1
    return nodeColumn === undefined ? assetColumns : assetColumns.toSpliced(Math.max(1, pinned), 0, nodeColumn)
  }, [assetColumns, nodeColumn])
  const onRange = useCallback(
    (first: number, last: number) => {
      pages.setVisibleRange(first, last)
      setRange(first, last)
    },
    [pages, setRange],
  )
  const open = useCallback((asset: Asset) => navigate({ to: `/assets/${asset.id}` }), [navigate])
  const done = () => {
    selection.clear()
    pages.refresh()
  }
  const drag = ({ id }: Asset) => {
    dragged.current = { kind: 'assets', ids: selection.ids.has(id) ? [...selection.ids] : [id], onAssigned: done }
  }
  const { total } = pages
  const canAssignMatching = canAssign && place.kind === 'all' && filter !== '' && q === '' && (total ?? 0) > 0
  return (
    <div className="hierarchy-assets">
      <div className="assets-tools">
        <SearchField value={q} onChange={(next) => change({ q: next })} />
        <IxButton
          variant={filter === '' ? 'secondary' : 'primary'}
          icon={filter === '' ? iconFilter : iconFilterFilled}
          aria-expanded={isFilterOpen}
          onClick={() => setFilterOpen(!isFilterOpen)}
        >
          {text.filter}
        </IxButton>
        {place.kind === 'node' && (
          <CheckField
            label={text.includeBelow}
            isChecked={isBelow}
            onChange={(isOn) => change({ below: isOn ? undefined : 'no' })}
          />
        )}
        <ExportButton
          what="assets"
          selection={{ ...(filter && { filter }), ...(q && { q }), sort, ...scope }}
          shown={shownColumns(columns, properties, language)}
        />
      </div>
      {isFilterOpen && (
        <FilterPanel
          key={filter}
          filter={filter}
          properties={properties}
          onApply={(next) => change({ filter: next })}
        />
      )}
      {selection.ids.size > 0 ? (
        <SelectionBar
          selection={selection}
          total={total ?? 0}
          node={node}
          includeBelow={isBelow}
          onAssign={() => setSubject({ ids: [...selection.ids] })}
          onDone={done}
        />
      ) : (
        <div className="count-row">
          <div className="assets-count">
            <span role="status">
              {pages.failure === undefined &&
                (total === undefined ? text.counting : text.assetCount(total, formats.number(total)))}
            </span>
            {canAssignMatching && (
              <IxButton variant="secondary" onClick={() => setSubject({ filter, count: total ?? 0 })}>
                {text.assignMatching(formats.number(total ?? 0))}
              </IxButton>
            )}
          </div>
          {place.kind === 'unassigned' && canAssign && (total ?? 0) > 0 && (
            <>
              <span className="quiet">{text.assignHint}</span>
              <IxButton
                className="assign-rules"
                variant="secondary"
                onClick={() => navigate({ to: `/hierarchy/${hierarchy.id}/rules` })}
              >
                {text.rules}
              </IxButton>
            </>
          )}
        </div>
      )}
      {pages.failure !== undefined && <ProblemMessage failure={pages.failure} onRetry={() => pages.retry()} />}
      {pages.failure !== undefined && total === undefined ? null : total === 0 ? (
        <NoAssets place={place} isNarrowed={q !== '' || filter !== ''} />
      ) : (
        <Grid
          label={text.assets}
          columns={shown}
          count={total ?? 30}
          rowAt={(index) => pages.rowAt(index)}
          idOf={idOf}
          onRange={onRange}
          onOpen={open}
          onDrag={canAssign ? drag : undefined}
          selection={selection.grid}
          sorting={{ id: sort.replace(/^-/, ''), isDescending: sort.startsWith('-') }}
          onSort={(path) => change({ sort: nextSort(sort, path) })}
          isTall
        />
      )}
      {subject !== undefined && (
        <AssignDialog
          hierarchyId={hierarchy.id}
          subject={subject}
          isMove={node !== undefined}
          onClose={() => setSubject(undefined)}
          onDone={done}
        />
      )}
    </div>
  )
}

function NoAssets({ place, isNarrowed }: { place: Place; isNarrowed: boolean }) {
  const text = useText(hierarchyMessages)
  const [title, hint] = isNarrowed
    ? [text.noMatchingAssets, text.noMatchingAssetsHint]
    : {
        all: [text.noAssets, text.noAssetsHint],
        unassigned: [text.noUnassigned, text.noUnassignedHint],
        node: [text.noNodeAssets, text.noNodeAssetsHint],
      }[place.kind]
  return (
    <EmptyState icon={iconProductManagement} title={title ?? ''}>
      <p>{hint}</p>
    </EmptyState>
  )
}

/**
 * Returns the sort order after a click on a column header: first ascending, then descending, then the default order.
 */
function nextSort(sort: string, path: string): string | undefined {
  if (sort === path) return `-${path}`
  return sort === `-${path}` ? undefined : path
}
