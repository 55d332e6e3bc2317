import { inboxFilter } from '@millwright/api/inbox-filter.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { Tabs } from '../../components/page/tabs.tsx'
import { Approvals } from '../remote-access/approvals/approvals.tsx'
import { useApprovalCount } from '../remote-access/remote-session.ts'
import { useTotalQuery } from '../start/plant-queries.ts'
import { DecisionList } from './decisions/decision-list.tsx'
import { Duplicates, useDuplicates } from './duplicates.tsx'
import { inboxMessages } from './messages.ts'
import { TriageView } from './triage/triage-view.tsx'
import '../assets/assets.css'
import './inbox.css'

/** The lists of the inbox: first the queues, then the log of the decisions. */
const lists = ['unknown', 'ignored', 'twins', 'approvals', 'decisions'] as const

/** `InboxPage` lists new assets, so that the user can review them. While a scan runs, its assets appear in the list. */
export function InboxPage() {
  const text = useText(inboxMessages)
  const formats = useFormats()
  usePageTitle(text.title)
  const navigate = useNavigate()
  const search: { list?: unknown } = useSearch({ strict: false })
  const query = useOperationQuery()
  const canApprove = usePermission('remote_access_approve')
  const approvals = useApprovalCount()
  const offered = lists.filter((each) => each !== 'approvals' || canApprove)
  const list = offered.find((each) => each === search.list) ?? 'unknown'
  const labels = {
    unknown: text.isNew,
    ignored: text.ignored,
    twins: text.duplicates,
    decisions: text.decisions,
    approvals: text.approvals,
  }
  const counts: Partial<Record<(typeof lists)[number], number | undefined>> = {
    unknown: useQuery(useTotalQuery(inboxFilter({}))).data?.meta.totalElements,
    ignored: useQuery(useTotalQuery(inboxFilter({ state: 'ignored' }))).data?.meta.totalElements,
    twins: useDuplicates().data?.meta.totalElements,
    approvals,
    decisions: useQuery(query(['inbox', 'listDecisions'], { query: { limit: 1 } }, { live: ['inbox.decision'] })).data
      ?.meta.totalElements,
  }
  const labelOf = (id: (typeof lists)[number]) =>
    counts[id] === undefined ? labels[id] : `${labels[id]} ${formats.number(counts[id])}`
  const subtitles = {
    unknown: text.subtitle,
    ignored: text.subtitleIgnored,
    twins: text.subtitleDuplicates,
    decisions: text.subtitleDecisions,
    approvals: text.subtitleApprovals,
  }
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={subtitles[list]}
        actions={
          <IxButton variant="secondary" onClick={() => navigate({ to: '/inbox/rules' })}>
            {text.rules}
          </IxButton>
        }
      />
      <Tabs
        label={text.lists}
        chosen={list}
        tabs={offered.map((id) => ({ id, label: labelOf(id) }))}
        onChoose={(id) => navigate({ to: '/inbox', search: (id === 'unknown' ? {} : { list: id }) as never })}
      >
        {list === 'approvals' ? (
          <Approvals />
        ) : list === 'twins' ? (
          <Duplicates />
        ) : list === 'decisions' ? (
          <DecisionList />
        ) : (
          <TriageView key={list} state={list} />
        )}
      </Tabs>
    </>
  )
}
