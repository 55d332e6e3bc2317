import { type InboxFacet, inboxFacets, inboxFilter } from '@millwright/api/inbox-filter.ts'
import { iconFilter, iconSuccess } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useEffect, useEffectEvent, useMemo, useState } from 'react'
import { failureOf } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePreference } from '../../../app/preferences/preference.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { MenuButton } from '../../../components/actions/menu-button.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { showError } from '../../../components/feedback/toast.ts'
import { FilterChips } from '../../../components/forms/filter-chips.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { Grid } from '../../../components/tables/grid.tsx'
import { BulkDeleteDialog } from '../../assets/bulk/bulk-delete-dialog.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import type { Asset } from '../../assets/model/asset.ts'
import { maxSelected } from '../../assets/model/limits.ts'
import { fieldsFor, useAssetList } from '../../assets/table/asset-list.ts'
import type { AssetPages } from '../../assets/table/asset-pages.ts'
import { type AssetSelection, useAssetSelection } from '../../assets/table/selection.ts'
import { columnMessages, facetMessages, inboxMessages } from '../messages.ts'
import { type DecisionRequest, useDecide } from './decide.ts'
import { type FacetChoices, FacetMenus, useFacetLabel } from './facet-menus.tsx'
import { inboxColumns, inboxFields } from './inbox-columns.tsx'
import { OnboardDialog } from './onboard-dialog.tsx'
import { PreviewPanel } from './preview-panel.tsx'
import { ProposalBanner } from './proposal-banner.tsx'
import { useProposals } from './proposals.ts'
import type { Target } from './target-fields.tsx'

const idOf = ({ id }: Asset) => id
const newestFirst = '-created_timestamp'
const noTarget: Target = { accessGroupId: '', nodeId: '' }
const fields = fieldsFor(inboxFields)

type TriageViewProps = { state: 'unknown' | 'ignored' }

/**
 * `TriageView` shows the assets of the inbox with facets, a table and the preview of the current asset. The keys J and K move
 * between assets, O onboards like the first button, I ignores, and U undoes the last decision.
 */
export function TriageView({ state }: TriageViewProps) {
  const text = useText(inboxMessages)
  const columnNames = useText(columnMessages)
  const language = useLanguage()
  const [search, setSearch] = useSearchState<InboxFacet | 'q' | 'sort' | 'rule'>()
  const canWrite = usePermission('inventory_write_asset_data')
  const chosen: FacetChoices = Object.fromEntries(
    inboxFacets.flatMap((facet) => (search[facet] === undefined ? [] : [[facet, facetValueOf(search[facet])]])),
  )
  const { q = '', sort = newestFirst } = search
  const filter = inboxFilter({ state, ...chosen })
  const proposedBy = state === 'unknown' ? search.rule : undefined
  const pages = useAssetList({ filter, q, sort, fields, proposedBy })
  const selection = useAssetSelection(pages, { filter, q, proposedBy })
  const query = useOperationQuery()
  const facets = useQuery({
    ...query(
      ['inbox', 'readInboxFacets'],
      { query: { state, ...(q !== '' && { q }), ...chosen } as never },
      { live: ['inventory.asset'] },
    ),
    placeholderData: (before) => before,
  })
  const [current, setCurrent] = useState(0)
  const [focus, setFocus] = useState<{ index: number }>()
  const [range, setRange] = useState({ first: 0, last: 30 })
  /** The open dialog and its assets. The current asset can change while the dialog is open. */
  const [dialog, setDialog] = useState<{ kind: 'onboard' | 'delete'; ids: string[] }>()
  /** The target of the last onboarding. The dialog starts with it, because devices that are found together often belong together. */
  const [lastTarget, setLastTarget] = useState(noTarget)
  const { decide, undoLast, running } = useDecide(() => pages.refresh())
  const proposals = useProposals(pages, range, state === 'unknown')
  const total = pages.total ?? 0
  const asset = pages.rowAt(Math.min(current, Math.max(0, total - 1)))
  const targets = selection.ids.size > 0 ? [...selection.ids] : asset === undefined ? [] : [asset.id]
  const columns = useMemo(
    () =>
      inboxColumns({
        language,
        names: columnNames,
        text,
        proposals: proposals.byAsset,
        hasProposals: proposals.hasRules,
      }),
    [language, columnNames, text, proposals.byAsset, proposals.hasRules],
  )

  const run = async (request: DecisionRequest) => {
    const decided = new Set(request.assetIds)
    if (decided.size <= 100) pages.remove(decided)
    selection.clear()
    await decide(request)
  }
  const runWithToast = (request: DecisionRequest) => {
    if ((request.assetIds ?? []).length === 0) return
    run(request).catch((error: unknown) => showError(failureOf(error).message))
  }
  const onboard = (assetIds: string[]) =>
    runWithToast({ action: 'onboard', assetIds, ...(proposals.hasRules && { useProposals: true }) })
  const proposedTargets = targets.filter((id) => proposals.byAsset.has(id)).length
  // Without a proposal, the user chooses a node, so that the assets get a place.
  const onboardByKey = () => {
    if (proposedTargets > 0) onboard(targets)
    else if (targets.length > 0) setDialog({ kind: 'onboard', ids: targets })
  }
  const ignore = (assetIds: string[]) => runWithToast({ action: state === 'ignored' ? 'return' : 'ignore', assetIds })
  // The row gets the focus in the next frame. The next key already applies to it.
  const moveTo = (index: number) => {
    setCurrent(index)
    setFocus({ index })
  }
  const [hasKeys, setKeys] = usePreference('inbox.keys', true)
  useTriageKeys(hasKeys, {
    j: () => moveTo(focus === undefined && current === 0 ? 0 : Math.min(current + 1, total - 1)),
    k: () => moveTo(Math.max(0, current - 1)),
    x: () => asset !== undefined && selection.grid.onToggle(current, false),
    ...(canWrite && { o: onboardByKey, i: () => ignore(targets), u: () => undoLast() }),
  })
  const onRange = useCallback(
    (first: number, last: number) => {
      pages.setVisibleRange(first, last)
      setRange({ first, last })
    },
    [pages],
  )
  const isNarrowed = q !== '' || Object.keys(chosen).length > 0 || proposedBy !== undefined
  const noFacets = Object.fromEntries(inboxFacets.map((facet) => [facet, undefined]))
  const clear = () => setSearch({ q: undefined, rule: undefined, ...noFacets })
  // The list of the assets of a rule has no search and no facets.
  const showRule = (rule: string | undefined) => {
    selection.clear()
    setSearch({ q: undefined, ...noFacets, rule })
  }
  const choose = (facet: InboxFacet, value: string | undefined) =>
    setSearch({ rule: undefined, [facet]: value === undefined ? undefined : urlTextOf(value) })
  return (
    <div className="triage inbox-list">
      {state === 'unknown' && (
        <ProposalBanner
          counted={proposals.counted}
          shownRule={proposedBy}
          onShow={showRule}
          onAccept={async (ruleId) => {
            await decide({ action: 'onboard', ruleId })
            if (ruleId === proposedBy) showRule(undefined)
          }}
        />
      )}
      <div className="assets-list">
        <div className="triage-tools">
          <SearchField value={q} onChange={(next) => setSearch({ rule: undefined, q: next })} />
          <Count state={state} pages={pages} isNarrowed={isNarrowed} />
          <KeyHelp state={state} isOn={hasKeys} onChange={setKeys} />
        </div>
        {running !== undefined && running.total > 100 && (
          <Progress value={(100 * (running.changed + running.failed)) / running.total} label={text.deciding} />
        )}
        {selection.ids.size > 0 ? (
          <SelectionBar
            state={state}
            selection={selection}
            total={total}
            canWrite={canWrite}
            proposed={proposedTargets === 0 ? 'none' : proposedTargets === targets.length ? 'all' : 'some'}
            onOnboard={() => onboard(targets)}
            onIgnore={() => ignore(targets)}
            onDialog={(kind) => setDialog({ kind, ids: targets })}
          />
        ) : (
          <div className="triage-actions">
            <FacetMenus facets={facets.data?.data} chosen={chosen} onChoose={choose} />
          </div>
        )}
        {isNarrowed && (
          <div className="triage-tools">
            <ActiveFilters
              chosen={chosen}
              facets={facets.data?.data}
              ruleName={
                proposedBy && (proposals.counted?.rules.find((rule) => rule.ruleId === proposedBy)?.ruleName ?? '…')
              }
              onRemove={(facet) => choose(facet, undefined)}
              onRemoveRule={() => showRule(undefined)}
              onClear={clear}
            />
            {canWrite && selection.ids.size === 0 && total > 0 && (
              <MatchingActions
                state={state}
                selection={selection}
                total={total}
                onOnboard={(ids) => setDialog({ kind: 'onboard', ids: [...ids] })}
              />
            )}
          </div>
        )}
        {pages.failure !== undefined && <ProblemMessage failure={pages.failure} onRetry={() => pages.retry()} />}
        {pages.total === 0 ? (
          <Empty state={state} isNarrowed={isNarrowed} onClear={clear} />
        ) : (
          <Grid
            label={text.table}
            // The assets of a rule have the order of the server.
            columns={proposedBy === undefined ? columns : columns.map((column) => ({ ...column, isSortable: false }))}
            count={pages.total ?? 20}
            rowAt={(index) => pages.rowAt(index)}
            idOf={idOf}
            onRange={onRange}
            onOpen={noop}
            onCurrent={setCurrent}
            focus={focus}
            selection={canWrite ? selection.grid : undefined}
            sorting={{ id: sort.replace(/^-/, ''), isDescending: sort.startsWith('-') }}
            onSort={(id) => setSearch({ sort: sort === id ? `-${id}` : id })}
            isTall
          />
        )}
      </div>
      {pages.total !== 0 && asset !== undefined && (
        <PreviewPanel
          key={asset.id}
          asset={asset}
          state={state}
          canWrite={canWrite}
          proposal={proposals.byAsset.get(asset.id)}
          onOnboard={() => onboard([asset.id])}
          onOnboardInto={() => setDialog({ kind: 'onboard', ids: [asset.id] })}
          onIgnore={() => ignore([asset.id])}
          onMerged={() => pages.refresh()}
        />
      )}
      {dialog?.kind === 'onboard' && (
        <OnboardDialog
          ids={dialog.ids}
          hasProposals={proposals.hasRules}
          lastTarget={lastTarget}
          onOnboard={async (request) => {
            setLastTarget({ accessGroupId: request.accessGroupId ?? '', nodeId: request.nodeId ?? '' })
            await run(request)
          }}
          onClose={() => setDialog(undefined)}
        />
      )}
      {dialog?.kind === 'delete' && (
        <BulkDeleteDialog
          ids={dialog.ids}
          onClose={() => setDialog(undefined)}
          onDone={() => {
            selection.clear()
            pages.refresh()
          }}
        />
      )}
    </div>
  )
}

function noop(): void {}

/** The text of an empty value in the URL. An absent parameter means that the facet selects nothing. */
const emptyValue = '-'

function urlTextOf(value: string): string {
  return value === '' ? emptyValue : value
}

function facetValueOf(text: string | undefined): string {
  return text === undefined || text === emptyValue ? '' : text
}

type ActiveFiltersProps = {
  chosen: FacetChoices
  facets: React.ComponentProps<typeof FacetMenus>['facets']
  /** The name of the rule whose assets are shown. */
  ruleName: string | undefined
  onRemove: (facet: InboxFacet) => void
  onRemoveRule: () => void
  onClear: () => void
}

/** `ActiveFilters` shows the selected values of the facets. A click on a value removes it. */
function ActiveFilters({ chosen, facets, ruleName, onRemove, onRemoveRule, onClear }: ActiveFiltersProps) {
  const text = useText(inboxMessages)
  const facetNames = useText(facetMessages)
  const label = useFacetLabel()
  const chips = inboxFacets.flatMap((facet) => {
    const value = chosen[facet]
    if (value === undefined) return []
    const known = facets?.[facet].find((each) => (each.value ?? '') === value)
    const name = label(facet, known ?? { value, count: 0 })
    return [{ id: facet, label: `${facetNames[facet]}:`, value: name, onRemove: () => onRemove(facet) }]
  })
  const ruleChip = { id: 'rule', label: `${text.proposedBy}:`, value: ruleName ?? '', onRemove: onRemoveRule }
  return <FilterChips chips={ruleName === undefined ? chips : [ruleChip, ...chips]} onClear={onClear} />
}

type CountProps = TriageViewProps & { pages: AssetPages; isNarrowed: boolean }

/** `Count` shows the number of listed assets. */
function Count({ state, pages: { total }, isNarrowed }: CountProps) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const counted = state === 'ignored' ? text.countIgnored : isNarrowed ? text.countMatching : text.count
  return (
    <div className="assets-count" role="status">
      {total === undefined ? text.counting : counted(total, formats.number(total))}
    </div>
  )
}

type MatchingActionsProps = TriageViewProps & {
  selection: AssetSelection
  total: number
  onOnboard: (ids: ReadonlySet<string>) => void
}

/** `MatchingActions` selects or onboards all assets that match the search and the facets. */
function MatchingActions({ state, selection, total, onOnboard }: MatchingActionsProps) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const [busy, setBusy] = useState<'select' | 'onboard'>()
  const select = (kind: 'select' | 'onboard', then?: (ids: ReadonlySet<string>) => void) => {
    setBusy(kind)
    selection
      .selectMatching()
      .then(then)
      .catch((error: unknown) => showError(failureOf(error).message))
      .finally(() => setBusy(undefined))
  }
  const shown = formats.number(Math.min(total, maxSelected))
  return (
    <>
      {state === 'unknown' && (
        <IxButton variant="secondary" loading={busy === 'onboard'} onClick={() => select('onboard', onOnboard)}>
          {text.onboardMatching(shown)}
        </IxButton>
      )}
      <IxButton variant="tertiary" loading={busy === 'select'} onClick={() => select('select')}>
        {text.selectAllMatching(shown)}
      </IxButton>
    </>
  )
}

type KeyHelpProps = TriageViewProps & { isOn: boolean; onChange: (isOn: boolean) => void }

/** `KeyHelp` lists the keys of the inbox. The user can switch them off, because speech input can press single letters. */
function KeyHelp({ state, isOn, onChange }: KeyHelpProps) {
  const text = useText(inboxMessages)
  const keys = [
    ['J', text.nextKey],
    ['K', text.previousKey],
    ['O', text.onboard],
    ['I', state === 'ignored' ? text.restore : text.ignore],
    ['X', text.selectKey],
    ['U', text.undo],
  ] as const
  return (
    <div className="key-help">
      <MenuButton
        label={text.keys}
        className="menu-button key-menu"
        head={keys.map(([key, name]) => (
          <span key={key}>
            <kbd>{key}</kbd> {name}
          </span>
        ))}
        entries={[{ kind: 'item', label: isOn ? text.keysOff : text.keysOn, onSelect: () => onChange(!isOn) }]}
        isAtEnd
      />
    </div>
  )
}

type SelectionBarProps = TriageViewProps & {
  selection: AssetSelection
  total: number
  canWrite: boolean
  /** Whether onboarding rules propose targets for the selected assets. */
  proposed: 'none' | 'some' | 'all'
  onOnboard: () => void
  onIgnore: () => void
  onDialog: (dialog: 'onboard' | 'delete') => void
}

/** `SelectionBar` contains the actions for the selected assets. */
function SelectionBar(props: SelectionBarProps) {
  const { state, selection, total, canWrite, proposed, onOnboard, onIgnore, onDialog } = props
  const text = useText(inboxMessages)
  const formats = useFormats()
  const [isGathering, setGathering] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const reach = Math.min(total, maxSelected)
  const { ids, clear, selectMatching } = selection
  const selectAll = async () => {
    setGathering(true)
    await selectMatching()
      .catch(setFailure)
      .finally(() => setGathering(false))
  }
  const selected = text.selected(formats.number(ids.size))
  return (
    <>
      <div className="bulk-bar" role="toolbar" aria-label={selected}>
        <strong>{selected}</strong>
        {ids.size < reach && (
          <IxButton variant="tertiary" loading={isGathering} onClick={selectAll}>
            {text.selectMatching(formats.number(reach))}
          </IxButton>
        )}
        <IxButton variant="tertiary" onClick={clear}>
          {text.unselect}
        </IxButton>
        {canWrite && (
          <>
            {/* Without a proposal, the first choice is to choose a node, so that the assets get a place. */}
            {proposed !== 'none' && (
              <IxButton title={text.onboardProposedHint} onClick={onOnboard}>
                {proposed === 'all' ? text.onboardProposed : text.onboard}
              </IxButton>
            )}
            <IxButton
              variant={proposed === 'none' ? 'primary' : 'secondary'}
              title={text.onboardIntoHint}
              onClick={() => onDialog('onboard')}
            >
              {text.onboardInto}
            </IxButton>
            {proposed === 'none' && (
              <IxButton variant="secondary" title={text.onboardHint} onClick={onOnboard}>
                {text.onboardWithoutNode}
              </IxButton>
            )}
            <IxButton variant="secondary" onClick={onIgnore}>
              {state === 'ignored' ? text.restore : text.ignore}
            </IxButton>
            <IxButton variant="danger-secondary" onClick={() => onDialog('delete')}>
              {text.delete}
            </IxButton>
          </>
        )}
      </div>
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </>
  )
}

function Empty({ state, isNarrowed, onClear }: TriageViewProps & { isNarrowed: boolean; onClear: () => void }) {
  const text = useText(inboxMessages)
  if (isNarrowed)
    return (
      <EmptyState icon={iconFilter} title={text.noMatches}>
        <p>{text.noMatchesText}</p>
        <IxButton variant="secondary" onClick={onClear}>
          {text.clearFilters}
        </IxButton>
      </EmptyState>
    )
  return (
    <EmptyState icon={iconSuccess} title={state === 'ignored' ? text.emptyIgnored : text.empty}>
      <p>{state === 'ignored' ? text.emptyIgnoredText : text.emptyText}</p>
      {state === 'ignored' ? <Link to="/inbox">{text.toNew}</Link> : <Link to="/discovery">{text.toDiscovery}</Link>}
    </EmptyState>
  )
}

/** Runs actions when the user presses single letters outside of fields and dialogs. */
function useTriageKeys(isOn: boolean, actions: Readonly<Record<string, () => unknown>>): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const act = isOn ? actions[event.key.toLowerCase()] : undefined
    const target = event.target instanceof Element ? event.target : undefined
    const isTyping = target?.closest(
      'input:not([type="checkbox"]), textarea, select, [contenteditable="true"], [role="menu"]',
    )
    const isModified = event.ctrlKey || event.metaKey || event.altKey
    if (act === undefined || isModified || isTyping || document.querySelector('dialog[open]') !== null) return
    event.preventDefault()
    act()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    addEventListener('keydown', listener)
    return () => removeEventListener('keydown', listener)
  }, [])
}
