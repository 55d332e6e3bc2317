import type { Proposal, Rule } from '@millwright/api/hierarchy.ts'
import { iconProductManagement } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { CheckField } from '../../../components/forms/fields.tsx'
import { Card } from '../../../components/page/card.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { useAssign } from '../assignment/assign.ts'
import { useCanAssign } from '../assignment/can-assign.ts'
import { FailureList } from '../assignment/failure-list.tsx'
import type { AssignmentOutcome } from '../assignment/outcome.ts'
import { ruleMessages } from './rule-messages.ts'

/**
 * `Proposals` lists the assets that the rules would assign to nodes. The user selects the assets that are really
 * assigned.
 */
export function Proposals({ hierarchyId, rules }: { hierarchyId: string; rules: readonly Rule[] }) {
  const text = useText(ruleMessages)
  const query = useOperationQuery()
  const [isAll, setAll] = useState(false)
  const proposals = useQuery(
    query(
      ['hierarchy', 'listProposals'],
      { params: { id: hierarchyId }, query: { onlyUnassigned: !isAll } },
      { live: ['hierarchy'] },
    ),
  )
  return (
    <Card title={text.proposals}>
      <CheckField label={text.includeAssigned} isChecked={isAll} onChange={setAll} />
      <QueryState query={proposals}>
        {({ data, meta }) => (
          <>
            {!meta.isComplete && <p className="quiet">{text.moreProposals}</p>}
            <ProposalTable key={`${isAll} ${JSON.stringify(rules)}`} hierarchyId={hierarchyId} proposals={data} />
          </>
        )}
      </QueryState>
    </Card>
  )
}

function ProposalTable({ hierarchyId, proposals }: { hierarchyId: string; proposals: readonly Proposal[] }) {
  const text = useText(ruleMessages)
  const formats = useFormats()
  const canAssign = useCanAssign()
  const { applyProposals } = useAssign()
  // The excluded assets are stored instead of the selected ones, so that new proposals are selected by default.
  const [excluded, setExcluded] = useState<ReadonlySet<string>>(new Set())
  const [failure, setFailure] = useState<unknown>()
  const [failures, setFailures] = useState<AssignmentOutcome['failures']>([])
  const [isBusy, setBusy] = useState(false)
  const chosen = proposals.filter(({ assetId }) => !excluded.has(assetId))
  const apply = async () => {
    setBusy(true)
    setFailure(undefined)
    setFailures([])
    try {
      const assets = chosen.map(({ assetId, nodeId }) => ({ assetId, nodeId }))
      setFailures((await applyProposals(hierarchyId, assets)).failures)
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  const select = (selected: ReadonlySet<string>) =>
    setExcluded(new Set(proposals.map(({ assetId }) => assetId).filter((id) => !selected.has(id))))
  return (
    <>
      {canAssign && proposals.length > 0 && (
        <div className="bulk-bar">
          <IxButton loading={isBusy} disabled={chosen.length === 0} onClick={apply}>
            {text.apply(chosen.length, formats.number(chosen.length))}
          </IxButton>
        </div>
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {failures.length > 0 && <FailureList failures={failures} />}
      <DataTable
        label={text.proposals}
        columns={columnsOf(text)}
        rows={proposals}
        idOf={({ assetId }) => assetId}
        {...(canAssign && {
          selection: { selected: new Set(chosen.map(({ assetId }) => assetId)), onChange: select },
        })}
        empty={
          <EmptyState icon={iconProductManagement} title={text.noProposals}>
            <p>{text.noProposalsHint}</p>
          </EmptyState>
        }
      />
    </>
  )
}

type Text = (typeof ruleMessages)['en']

function columnsOf(text: Text): Column<Proposal>[] {
  return [
    {
      id: 'asset',
      header: text.asset,
      width: 280,
      cell: ({ assetId, assetName }) => (
        <Link to="/assets/$id" params={{ id: assetId }}>
          {assetName ?? assetId}
        </Link>
      ),
    },
    { id: 'node', header: text.proposedNode, width: 220, cell: ({ nodeName }) => nodeName },
    { id: 'current', header: text.currentNode, width: 220, cell: ({ currentNodeName }) => currentNodeName ?? '–' },
    { id: 'rule', header: text.matchedRule, width: 100, isNumber: true, cell: ({ rule }) => rule + 1 },
  ]
}
