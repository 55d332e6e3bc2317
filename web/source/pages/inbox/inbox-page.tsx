import { IxButton } from '@siemens/ix-react'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { Tabs } from '../../components/page/tabs.tsx'
import { Approvals } from '../remote-access/approvals/approvals.tsx'
import { useApprovalCount } from '../remote-access/remote-session.ts'
import { DecisionList } from './decisions/decision-list.tsx'
import { Duplicates } from './duplicates.tsx'
import { inboxMessages } from './messages.ts'
import { TriageView } from './triage/triage-view.tsx'
import '../assets/assets.css'
import './inbox.css'

const lists = ['unknown', 'ignored', 'twins', 'decisions', 'approvals'] as const

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
    decisions: text.decisions,
    approvals: approvals === 0 ? text.approvals : text.approvalsCount(formats.number(approvals)),
  }
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
        tabs={offered.map((id) => ({ id, label: labels[id] }))}
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
