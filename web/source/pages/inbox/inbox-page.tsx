import { inboxFilter } from '@millwright/api/inbox-filter.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
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
import { type InboxList, offeredLists } from './lists.ts'
import { inboxMessages } from './messages.ts'
import { TriageView } from './triage/triage-view.tsx'
import '../assets/assets.css'
import './inbox.css'

/** `InboxPage` lists new assets, so that the user can review them. While a scan runs, its assets appear in the list. */
export function InboxPage() {
  const text = useText(inboxMessages)
  const formats = useFormats()
  usePageTitle(text.title)
  const navigate = useNavigate()
  const search: { list?: unknown } = useSearch({ strict: false })
  const canApprove = usePermission('remote_access_approve')
  const approvals = useApprovalCount()
  const offered = offeredLists({ chosen: canApprove ? search.list : undefined, approvals })
  const list = offered.find((each) => each === search.list) ?? 'unknown'
  const labels = {
    unknown: text.isNew,
    ignored: text.ignored,
    twins: text.duplicates,
    decisions: text.decisions,
    approvals: text.approvals,
  }
  // The decisions are a log, which needs no work, so they have no number.
  const counts: Partial<Record<InboxList, number | undefined>> = {
    unknown: useQuery(useTotalQuery(inboxFilter({}))).data?.meta.totalElements,
    ignored: useQuery(useTotalQuery(inboxFilter({ state: 'ignored' }))).data?.meta.totalElements,
    twins: useDuplicates().data?.meta.totalElements,
    approvals,
  }
  const labelOf = (id: InboxList) =>
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
        tabs={offered.map((id) => ({ id, label: labelOf(id), startsGroup: id === 'decisions' }))}
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
