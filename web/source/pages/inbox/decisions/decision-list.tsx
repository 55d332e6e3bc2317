import { type Decision, decisionActions } from '@millwright/api/inbox.ts'
import { iconHistory } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { CutText } from '../../../components/values/cut-text.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useTotalQuery } from '../../start/plant-queries.ts'
import { decisionMessages, inboxMessages } from '../messages.ts'
import { useDecide } from '../triage/decide.ts'
import { DecisionAssets } from './decision-assets.tsx'

const live = ['inbox.decision']
const kinds = [...decisionActions, 'undo'] as const
const onboardedFilter = "management_state/state_value eq 'regarded' and is_platform_managed eq false"

/** `DecisionList` lists the decisions of users and rules, newest first. Each can be undone for some days. */
export function DecisionList() {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const decisionText = useText(decisionMessages)
  const query = useOperationQuery()
  const canWrite = usePermission('inventory_write_asset_data')
  const [search, setSearch] = useSearchState<'action'>()
  const kind = kinds.find((each) => each === search.action)
  const decisions = usePagedList(['inbox', 'listDecisions'], { query: { ...(kind && { action: kind }) } }, { live })
  const hasEntries = useHasEntries(decisions, kind !== undefined)
  const rules = useQuery(query(['inbox', 'listOnboardingRules'], {}, { live: ['inbox.rule'] })).data?.data ?? []
  const onboarded = useQuery(useTotalQuery(onboardedFilter)).data?.meta.totalElements ?? 0
  const names = new Map(rules.map(({ id, name }) => [id, name]))
  const { undo } = useDecide(decisions.retry)
  const [undoing, setUndoing] = useState<string>()
  const [opened, setOpened] = useState<Decision>()
  const hasProblems = decisions.rows.some(hasResult)
  const columns: Column<Decision>[] = [
    {
      id: 'time',
      width: 135,
      header: decisionText.time,
      cell: ({ createdTimestamp }) => <Time at={createdTimestamp} isCompact />,
    },
    {
      id: 'what',
      width: 280,
      isGrowing: true,
      header: decisionText.what,
      cell: (decision) => <DecisionSentence decision={decision} ruleName={names.get(decision.ruleId ?? '')} />,
    },
    {
      id: 'assets',
      width: 195,
      header: decisionText.assets,
      cell: (decision) => <FirstAssets decision={decision} onOpen={() => setOpened(decision)} />,
    },
    {
      id: 'node',
      width: 225,
      minWidth: 150,
      header: text.node,
      cell: ({ action, targets }) => (
        <Target action={action} values={targets.map(({ nodePath }) => nodePath?.join(' › '))} without={text.noNode} />
      ),
    },
    {
      id: 'group',
      width: 165,
      header: text.accessGroup,
      cell: ({ action, targets }) => (
        <Target
          action={action}
          values={targets.map(({ accessGroup }) => accessGroup)}
          without={decisionText.sameGroup}
        />
      ),
    },
    ...(hasProblems
      ? [
          {
            id: 'result',
            width: 150,
            header: decisionText.problems,
            cell: (decision: Decision) => <Result decision={decision} />,
          },
        ]
      : []),
    {
      id: 'undo',
      width: 195,
      header: text.undo,
      cell: ({ id, action, state, canUndo, undoneBy, undoUntilTimestamp }) => {
        if (canUndo && canWrite)
          return (
            <>
              <button
                type="button"
                className="link-button"
                disabled={undoing === id}
                onClick={() => {
                  setUndoing(id)
                  undo(id).finally(() => setUndoing(undefined))
                }}
              >
                {text.undo}
              </button>{' '}
              <span className="quiet" title={formats.exact(undoUntilTimestamp)}>
                {decisionText.until(formats.dayMonth(undoUntilTimestamp))}
              </span>
            </>
          )
        if (undoneBy !== undefined) return <span className="quiet">{decisionText.undone}</span>
        const isExpired = action !== 'undo' && state !== 'running' && Date.parse(undoUntilTimestamp) < Date.now()
        return isExpired && <span className="quiet">{decisionText.expired}</span>
      },
    },
  ]
  return (
    <>
      {hasEntries && (
        <Toolbar count={decisionText.count(decisions.total, formats.number(decisions.total))}>
          <SelectField
            label={decisionText.kind}
            isLabelUnseen
            value={kind ?? ''}
            onChange={(value) => setSearch({ action: value })}
            choices={[
              { value: '', label: decisionText.anyKind },
              ...kinds.map((value) => ({ value, label: decisionText[value] })),
            ]}
          />
        </Toolbar>
      )}
      <PagedTable
        label={text.decisions}
        pagedList={decisions}
        columns={columns}
        idOf={({ id }) => id}
        empty={
          kind === undefined ? (
            <EmptyState icon={iconHistory} title={decisionText.none}>
              {onboarded > 0 && (
                <p>
                  {decisionText.outside(onboarded, formats.number(onboarded))}{' '}
                  <Link to="/activity">{decisionText.toActivity}</Link>
                </p>
              )}
              <p>{decisionText.noneText}</p>
              <Link to="/inbox">{text.toNew}</Link>
            </EmptyState>
          ) : (
            <EmptyState icon={iconHistory} title={decisionText.noMatches}>
              <IxButton variant="secondary" onClick={() => setSearch({ action: undefined })}>
                {decisionText.showAll}
              </IxButton>
            </EmptyState>
          )
        }
      />
      {opened !== undefined && <DecisionAssets decision={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}

type DecisionSentenceProps = { decision: Decision; ruleName: string | undefined }

/** `DecisionSentence` shows who decided what about how many assets. */
function DecisionSentence({ decision, ruleName }: DecisionSentenceProps) {
  const text = useText(decisionMessages)
  const formats = useFormats()
  const { action, changed, total, state, principalName, ruleId, runId } = decision
  const { didOnboard, didAccept, didIgnore, didReturn, didUndo } = text
  const isByRule = ruleId !== undefined && runId !== undefined
  const isAccepted = ruleId !== undefined && runId === undefined && ruleName !== undefined
  const did = { onboard: isAccepted ? didAccept : didOnboard, ignore: didIgnore, return: didReturn, undo: didUndo }
  const count = state === 'running' ? total : changed
  const rule = ruleId !== undefined && (
    <Link to="/inbox/rules">
      {ruleName === undefined ? text.deletedRule : isByRule ? text.rule(ruleName) : ruleName}
    </Link>
  )
  return (
    <span className="decision">
      {isByRule ? rule : <strong>{principalName}</strong>} {did[action](count, formats.number(count))}
      {isAccepted && <> {rule}</>}
    </span>
  )
}

type TargetProps = {
  action: Decision['action']
  /** The nodes or the access groups that the assets got, most assets first. */
  values: readonly (string | undefined)[]
  /** The text for onboarded assets that got no node or no other access group. */
  without: string
}

/** `Target` shows the node or the access group that onboarded assets got, and how many others there are. Other decisions have none. */
function Target({ action, values, without }: TargetProps) {
  const text = useText(decisionMessages)
  const [first, ...others] = new Set(values.filter((value) => value !== undefined))
  if (action !== 'onboard') return null
  if (first === undefined) return <span className="quiet">{without}</span>
  return (
    <span className="decision" title={[first, ...others].join('\n')}>
      {others.length > 0 ? first : <CutText text={first} />}
      {others.length > 0 && <span className="quiet"> {text.otherTargets(others.length)}</span>}
    </span>
  )
}

/** `FirstAssets` links to the first asset of a decision, and opens the list of all its assets. */
function FirstAssets({ decision, onOpen }: { decision: Decision; onOpen: () => void }) {
  const text = useText(decisionMessages)
  const formats = useFormats()
  const { assets, changed, state, total } = decision
  const [first] = assets
  if (first === undefined) return <span className="quiet">–</span>
  const others = (state === 'running' ? total : changed) - 1
  return (
    <span className="decision">
      <Link to="/assets/$id" params={{ id: first.id }}>
        {first.name ?? first.id}
      </Link>
      {others > 0 && (
        <>
          {' '}
          <button type="button" className="link-button" onClick={onOpen}>
            {text.andMore(formats.number(others))}
          </button>
        </>
      )}
    </span>
  )
}

/** Returns whether a decision is not complete: it runs, or it changed only some of its assets. */
function hasResult({ state, failed, notAssigned, problem }: Decision): boolean {
  return state === 'running' || problem !== undefined || failed + notAssigned > 0
}

/** `Result` shows the progress and the problems of a decision. A complete decision has none. */
function Result({ decision }: { decision: Decision }) {
  const decisionText = useText(decisionMessages)
  const formats = useFormats()
  const { state, total, changed, failed, notAssigned, problem } = decision
  if (!hasResult(decision)) return <span className="quiet">{decisionText.noProblem}</span>
  if (state === 'running')
    return (
      <StatusChip tone="info">
        {decisionText.running(formats.number(changed + failed), formats.number(total))}
      </StatusChip>
    )
  if (problem !== undefined) return <StatusChip tone="bad">{problem.detail}</StatusChip>
  return (
    <StatusChip tone="warning">
      {[
        failed > 0 && decisionText.notChanged(formats.number(failed)),
        notAssigned > 0 && decisionText.notAssigned(formats.number(notAssigned)),
      ]
        .filter(Boolean)
        .join(', ')}
    </StatusChip>
  )
}
