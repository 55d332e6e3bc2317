import { iconSuccess } from '@siemens/ix-icons/icons'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { Tabs } from '../../components/page/tabs.tsx'
import { Grid } from '../../components/tables/grid.tsx'
import type { Asset } from '../assets/model/asset.ts'
import { assetProperties } from '../assets/model/asset-property.ts'
import { gridColumns } from '../assets/table/asset-cells.tsx'
import { fieldsFor, useAssetList } from '../assets/table/asset-list.ts'
import type { AssetPages } from '../assets/table/asset-pages.ts'
import { useAssetSelection } from '../assets/table/selection.ts'
import { Approvals } from '../remote-access/approvals/approvals.tsx'
import { useApprovalCount } from '../remote-access/remote-session.ts'
import { DecisionBar } from './decision-bar.tsx'
import { Duplicates } from './duplicates.tsx'
import type { InboxList } from './inbox-list.ts'
import { inboxMessages } from './messages.ts'
import '../assets/assets.css'

const product = 'product_instance_information/manufacturer_product'

/** The paths of the properties that the inbox shows as columns. */
const paths = [
  'name',
  'functional_object_type',
  `${product}/manufacturer/name`,
  `${product}/product_name`,
  'product_instance_information/serial_number',
  'connection_points/any/ipv4_address',
  'connection_points/any/mac_address',
  'access_group',
  'created_timestamp',
]

const shown = paths.flatMap((path) => assetProperties.find((property) => property.path === path) ?? [])
const columns = shown.map(({ path, width }) => ({
  path,
  width: path === 'name' ? 220 : width,
  isPinned: path === 'name',
}))
const fields = fieldsFor(shown.map(({ field }) => field))
const idOf = ({ id }: Asset) => id

const lists = ['unknown', 'ignored', 'twins', 'approvals'] as const

/** `InboxPage` lists new assets, so that the user can review them. While a scan runs, its assets appear in the list. */
export function InboxPage() {
  const text = useText(inboxMessages)
  const formats = useFormats()
  usePageTitle(text.title)
  const navigate = useNavigate()
  const search: { list?: unknown } = useSearch({ strict: false })
  const canApprove = usePermission('remote_access_approve')
  const approvals = useApprovalCount()
  const offered = lists.filter((each) => each !== 'approvals' || canApprove)
  const list = offered.find((each) => each === search.list) ?? 'unknown'
  const labels = {
    unknown: text.isNew,
    ignored: text.ignored,
    twins: text.duplicates,
    approvals: approvals === 0 ? text.approvals : text.approvalsCount(formats.number(approvals)),
  }
  return (
    <>
      <PageHeader title={text.title} subtitle={text.subtitle} />
      <Tabs
        label={text.lists}
        chosen={list}
        tabs={offered.map((id) => ({ id, label: labels[id] }))}
        onChoose={(id) => navigate({ to: '/inbox', search: (id === 'unknown' ? {} : { list: id }) as never })}
      >
        {list === 'approvals' ? (
          <Approvals />
        ) : list === 'twins' ? (
          <Duplicates />
        ) : (
          <InboxTable key={list} list={list} />
        )}
      </Tabs>
    </>
  )
}

function InboxTable({ list }: { list: InboxList }) {
  const text = useText(inboxMessages)
  const language = useLanguage()
  const navigate = useNavigate()
  const filter = `management_state/state_value eq '${list}'`
  const pages = useAssetList({ filter, q: '', sort: '-created_timestamp', fields })
  const selection = useAssetSelection(pages, { filter, q: '' })
  const drawn = useMemo(() => gridColumns(columns, assetProperties, language), [language])
  const open = useCallback((asset: Asset) => navigate({ to: `/assets/${asset.id}` }), [navigate])
  const onRange = useCallback((first: number, last: number) => pages.setVisibleRange(first, last), [pages])
  return (
    <div className="assets-list inbox-list">
      {selection.ids.size > 0 ? (
        <DecisionBar list={list} selection={selection} total={pages.total ?? 0} onDone={() => pages.refresh()} />
      ) : (
        <Count list={list} pages={pages} />
      )}
      {pages.failure !== undefined && <ProblemMessage failure={pages.failure} onRetry={() => pages.retry()} />}
      {pages.total === 0 ? (
        <EmptyState icon={iconSuccess} title={list === 'ignored' ? text.emptyIgnored : text.empty}>
          <p>{list === 'ignored' ? text.emptyIgnoredText : text.emptyText}</p>
        </EmptyState>
      ) : (
        <Grid
          label={text.table}
          columns={drawn}
          count={pages.total ?? 20}
          rowAt={(index) => pages.rowAt(index)}
          idOf={idOf}
          onRange={onRange}
          onOpen={open}
          selection={selection.grid}
          isTall
        />
      )}
    </div>
  )
}

function Count({ list, pages: { total } }: { list: InboxList; pages: AssetPages }) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const counted = list === 'ignored' ? text.countIgnored : text.count
  return (
    <p className="assets-count" role="status">
      {total === undefined ? text.counting : counted(total, formats.number(total))}
    </p>
  )
}
