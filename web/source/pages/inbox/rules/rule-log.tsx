import type { OnboardingRule, RuleRun } from '@millwright/api/inbox.ts'
import { iconHistory } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { decisionMessages, inboxMessages } from '../messages.ts'
import { useDecide } from '../triage/decide.ts'
import { ruleMessages } from './messages.ts'

/** `RuleLog` shows what an automatic rule did after each scan, with an undo for each entry. */
export function RuleLog({ rule, onClose }: { rule: OnboardingRule; onClose: () => void }) {
  const text = useText(ruleMessages)
  const inboxText = useText(inboxMessages)
  const decisionText = useText(decisionMessages)
  const formats = useFormats()
  const canWrite = usePermission('inventory_write_asset_data')
  const runs = usePagedList(['inbox', 'listRuleRuns'], { params: { id: rule.id } }, { live: ['inbox'] })
  const decisions = usePagedList(
    ['inbox', 'listDecisions'],
    { query: { ruleId: rule.id } },
    { live: ['inbox.decision'] },
  )
  const byId = new Map(decisions.rows.map((decision) => [decision.id, decision]))
  const { undo } = useDecide(runs.retry)
  const columns: Column<RuleRun>[] = [
    { id: 'time', width: 150, header: text.logTime, cell: ({ createdTimestamp: at }) => <Time at={at} isRelative /> },
    {
      id: 'scan',
      width: 120,
      header: text.logScan,
      cell: ({ jobId }) => <Link to={`/discovery/scans/${jobId}`}>{text.openScan}</Link>,
    },
    {
      id: 'matched',
      width: 110,
      isNumber: true,
      header: text.logMatched,
      cell: ({ matched }) => formats.number(matched),
    },
    { id: 'taken', width: 120, isNumber: true, header: text.logTaken, cell: ({ taken }) => formats.number(taken) },
    {
      id: 'result',
      width: 260,
      header: text.logResult,
      cell: ({ problem, matched, taken }) =>
        problem !== undefined ? (
          <StatusChip tone="bad">{problem}</StatusChip>
        ) : matched > taken ? (
          <StatusChip tone="warning">{text.overCap(formats.number(matched - taken))}</StatusChip>
        ) : (
          <StatusChip tone="good">{text.complete}</StatusChip>
        ),
    },
    {
      id: 'undo',
      width: 130,
      header: inboxText.undo,
      cell: ({ decisionId }) => {
        const decision = byId.get(decisionId ?? '')
        if (decision?.undoneBy !== undefined) return <span className="quiet">{decisionText.undone}</span>
        return decision?.canUndo && canWrite ? (
          <button type="button" className="link-button" onClick={() => undo(decision.id)}>
            {inboxText.undo}
          </button>
        ) : null
      },
    },
  ]
  return (
    <Dialog title={text.logTitle(rule.name)} onClose={onClose} isWide>
      <PagedTable
        label={text.logTitle(rule.name)}
        pagedList={runs}
        columns={columns}
        idOf={({ runId }) => runId}
        empty={
          <EmptyState icon={iconHistory} title={text.noLog}>
            <p>{text.noLogText}</p>
          </EmptyState>
        }
      />
    </Dialog>
  )
}
