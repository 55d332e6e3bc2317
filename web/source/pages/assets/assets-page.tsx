import { iconFilter, iconFilterFilled, iconProductManagement, iconTableColumns } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useEffectEvent, useMemo, useState } from 'react'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { usePreference } from '../../app/preferences/preference.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { ToolGroup } from '../../components/actions/tool-group.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { Grid } from '../../components/tables/grid.tsx'
import { ExportButton } from '../files/export/export-dialog.tsx'
import { useNewestVersion } from '../start/newest-version.ts'
import { BulkBar } from './bulk/bulk-bar.tsx'
import { ConditionChips } from './filter/condition-chips.tsx'
import { conditionsOf } from './filter/filter-conditions.ts'
import { FilterPanel } from './filter/filter-panel.tsx'
import { GroupPanel } from './filter/group-panel.tsx'
import { isQuickFilter, QuickFilters } from './filter/quick-filters.tsx'
import { SearchField } from './filter/search-field.tsx'
import { assetsMessages } from './messages.ts'
import { type Asset, textAt } from './model/asset.ts'
import { type AssetProperty, conditionPath, defaultPaths, groupedPaths, placePath } from './model/asset-property.ts'
import { useAssetProperties } from './model/properties.ts'
import { gridColumns } from './table/asset-cells.tsx'
import { conditionFields, fieldsFor, useAssetList } from './table/asset-list.ts'
import type { AssetPages } from './table/asset-pages.ts'
import { usePlaces } from './table/asset-places.ts'
import { useMonitoredStates } from './table/asset-states.ts'
import { useColumnChanges } from './table/column-changes.ts'
import { ColumnsDialog } from './table/columns-dialog.tsx'
import { selectionOf, shownColumns } from './table/export-columns.ts'
import { usePageRange, visiblePages } from './table/page-range.ts'
import { useAssetSelection } from './table/selection.ts'
import { namedColumns, type TableColumn, tableColumnsOf } from './table/table-columns.ts'
import { effectiveFilter, queryOf, searchOf, type View, viewOf } from './views/view-search.ts'
import { ViewsMenu } from './views/views-menu.tsx'
import './assets.css'

/** `AssetsPage` lists assets with search, filter, groups, configurable columns and bulk changes. */
export function AssetsPage() {
  const text = useText(assetsMessages)
  usePageTitle(text.title)
  const navigate = useNavigate()
  const view = viewOf(useSearch({ strict: false }))
  const properties = useAssetProperties()
  const [columns, setColumns] = useColumns(view, properties)
  const [isFilterOpen, setFilterOpen] = useState(false)
  const [isChoosing, setChoosing] = useState(false)
  const language = useLanguage()
  const show = (change: Partial<View>) =>
    navigate({
      to: '/assets',
      search: searchOf({ ...view, ...change }) as never,
      replace: change.q !== undefined || change.match !== undefined,
    })
  return (
    <>
      <PageHeader title={text.title} subtitle={text.subtitle} />
      <div className="assets-tools">
        <SearchField value={view.q} onChange={(q) => show({ q, match: undefined })} />
        <ToolGroup label={text.tools}>
          <IxButton
            variant={view.filter === '' ? 'secondary' : 'primary'}
            icon={view.filter === '' ? iconFilter : iconFilterFilled}
            aria-expanded={isFilterOpen}
            onClick={() => setFilterOpen(!isFilterOpen)}
          >
            {view.filter === '' ? text.filter : text.activeFilter(conditionCount(view.filter))}
          </IxButton>
          <GroupSelect properties={properties} view={view} onChange={(by) => show({ by, in: undefined })} />
          <IxButton variant="secondary" icon={iconTableColumns} onClick={() => setChoosing(true)}>
            {text.columns}
          </IxButton>
          <ViewsMenu view={view} columns={columns.map(({ path }) => path)} />
          <ExportButton
            what="assets"
            selection={selectionOf(view)}
            shown={shownColumns(columns, properties, language)}
          />
        </ToolGroup>
      </div>
      {isFilterOpen && (
        <FilterPanel
          key={view.filter}
          filter={view.filter}
          properties={properties}
          onApply={(filter) => show({ filter })}
        />
      )}
      {/* The active quick filter shows its condition. */}
      <ConditionChips
        view={isQuickFilter(view) ? { ...view, filter: '' } : view}
        properties={properties}
        onShow={show}
      />
      <AssetTable view={view} columns={columns} properties={properties} onColumns={setColumns} onShow={show} />
      {isChoosing && (
        <ColumnsDialog
          columns={columns}
          properties={properties}
          onChange={setColumns}
          onClose={() => setChoosing(false)}
        />
      )}
    </>
  )
}

/**
 * Returns the columns that the URL names, or else the stored columns of the user. When the user changes the columns,
 * they are stored and removed from the URL.
 */
function useColumns(
  view: View,
  properties: readonly AssetProperty[],
): [TableColumn[], (columns: TableColumn[]) => void] {
  const navigate = useNavigate()
  const [stored, setStored] = usePreference<unknown>('assets.columns', undefined)
  const { columns: names, by } = view
  const columns = useMemo(() => {
    const own = tableColumnsOf(stored, properties, by === '' ? defaultPaths : groupedPaths)
    return names === undefined ? own : namedColumns(names, own, properties)
  }, [stored, names, by, properties])
  const change = (next: TableColumn[]) => {
    setStored(next)
    if (names !== undefined) {
      navigate({ to: '/assets', search: searchOf({ ...view, columns: undefined }) as never, replace: true })
    }
  }
  return [columns, change]
}

type GroupSelectProps = { properties: readonly AssetProperty[]; view: View; onChange: (by: string) => void }

function GroupSelect({ properties, view, onChange }: GroupSelectProps) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  return (
    <label className="group-select">
      <span>{text.groupBy}</span>
      <select className="input" value={view.by} onChange={({ target }) => onChange(target.value)}>
        <option value="">{text.noGroup}</option>
        {properties
          .filter(({ isFacet }) => isFacet)
          .map(({ path, title }) => (
            <option key={path} value={path}>
              {title[language]}
            </option>
          ))}
      </select>
    </label>
  )
}

type AssetTableProps = {
  view: View
  columns: readonly TableColumn[]
  properties: readonly AssetProperty[]
  onColumns: (columns: TableColumn[]) => void
  onShow: (change: Partial<View>) => void
}

const idOf = ({ id }: Asset) => id

/** Returns a function that returns the management state of a loaded asset, or undefined for an asset that is not loaded. */
function managementStates(pages: AssetPages): (id: string) => string | undefined {
  const loaded = [...pages.loaded(0, (pages.total ?? 0) - 1)]
  const states = new Map(loaded.map((asset) => [asset.id, textAt(asset, 'management_state/state_value')]))
  return (id) => states.get(id)
}

/** The order of the table if the view does not name another one. */
const defaultSort = 'name'

function AssetTable({ view, columns, properties, onColumns, onShow }: AssetTableProps) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const formats = useFormats()
  const navigate = useNavigate()
  const query = queryOf(view)
  const sort = view.sort === '' ? defaultSort : view.sort
  const fields = columns.flatMap(({ path }) => properties.find((each) => each.path === path)?.field ?? [])
  const pages = useAssetList({
    ...query,
    sort,
    fields: fieldsFor([...fields, ...conditionFields, 'management_state']),
  })
  const selection = useAssetSelection(pages, query)
  const newestVersion = useNewestVersion()
  const [range, setRange] = usePageRange()
  const isShown = (wanted: string) => columns.some(({ path }) => path === wanted)
  const placeOf = usePlaces(isShown(placePath) ? visiblePages(pages, range) : [])
  const stateOf = useMonitoredStates(isShown(conditionPath) ? visiblePages(pages, range) : [])
  const shown = useMemo(
    () => gridColumns(columns, properties, language, { newestVersion, placeOf, stateOf }),
    [columns, properties, language, newestVersion, placeOf, stateOf],
  )
  const open = useCallback((asset: Asset) => navigate({ to: `/assets/${asset.id}` }), [navigate])
  const onRange = useCallback(
    (first: number, last: number) => {
      pages.setVisibleRange(first, last)
      setRange(first, last)
    },
    [pages, setRange],
  )
  const group = properties.find(({ path, isFacet }) => isFacet && path === view.by)
  const canSearchInside = view.q !== '' && view.match !== 'inside'
  const hasNoWords = canSearchInside && pages.total === 0
  const searchInside = useEffectEvent(() => onShow({ match: 'inside' }))
  // If no word begins with the search text, the table searches inside words.
  useEffect(() => {
    if (hasNoWords) searchInside()
  }, [hasNoWords])
  const total = hasNoWords ? undefined : pages.total
  const countText = (count: number | undefined) =>
    count === undefined ? text.counting : count === 1 ? text.one : text.count(formats.number(count))
  const changes = useColumnChanges({ columns, properties, onColumns })
  const hasFailed = pages.failure !== undefined
  return (
    <div className="assets-body">
      {group !== undefined && (
        <GroupPanel
          property={group}
          filter={view.filter}
          chosen={view.in}
          onChoose={(value) => onShow({ in: value })}
        />
      )}
      <div className="assets-list">
        {selection.ids.size > 0 ? (
          <>
            <BulkBar selection={selection} total={total ?? 0} stateOf={managementStates(pages)} />
            {isQuickFilter(view) && <QuickFilters view={view} onShow={onShow} />}
          </>
        ) : (
          <div className="count-row">
            <p className="assets-count" role="status">
              {!hasFailed && countText(total)}
            </p>
            <QuickFilters view={view} onShow={onShow} />
          </div>
        )}
        {hasFailed && <ProblemMessage failure={pages.failure} onRetry={() => pages.retry()} />}
        {hasFailed && total === undefined ? null : total === 0 ? (
          <NoAssets view={view} onShow={onShow} />
        ) : (
          <Grid
            label={text.table}
            columns={shown}
            count={total ?? 30}
            rowAt={(index) => pages.rowAt(index)}
            idOf={idOf}
            onRange={onRange}
            onOpen={open}
            selection={selection.grid}
            sorting={sortingOf(sort)}
            onSort={(path) => onShow({ sort: nextSort(sort, path) })}
            {...changes}
            isTall
          />
        )}
      </div>
    </div>
  )
}

function NoAssets({ view, onShow }: { view: View; onShow: (change: Partial<View>) => void }) {
  const text = useText(assetsMessages)
  const canImport = usePermission('glb_file_import')
  const isNarrowed = view.q !== '' || effectiveFilter(view) !== ''
  return (
    <EmptyState icon={iconProductManagement} title={isNarrowed ? text.noMatches : text.noAssets}>
      <p>{isNarrowed ? text.noMatchesHint : text.noAssetsHint}</p>
      {!isNarrowed && canImport && <Link to="/files/import">{text.importFile}</Link>}
      {isNarrowed && (
        <IxButton
          variant="secondary"
          onClick={() => onShow({ q: '', match: undefined, filter: '', by: '', in: undefined })}
        >
          {text.clearAll}
        </IxButton>
      )}
    </EmptyState>
  )
}

/**
 * Returns the number of conditions in a filter. An expression that cannot be shown as a list of conditions counts as
 * one condition.
 */
function conditionCount(filter: string): number {
  return conditionsOf(filter)?.conditions.length ?? 1
}

function sortingOf(sort: string) {
  return { id: sort.replace(/^-/, ''), isDescending: sort.startsWith('-') }
}

/**
 * Returns the sort order after a click on a column header: first ascending, then descending, then the default order.
 */
function nextSort(sort: string, path: string): string {
  if (sort === path) return `-${path}`
  return sort === `-${path}` ? '' : path
}
