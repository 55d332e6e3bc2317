import type { Proposal, Rule } from '@millwright/api/hierarchy.ts'
import { iconProductManagement } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import type { Formats } from '../../../app/language/formats.ts'
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
import { PathName } from '../node/path-name.tsx'
import { ruleMessages } from './rule-messages.ts'

/**
 * `Proposals` lists the assets that the rules would assign to nodes. The user selects the assets that are really
 * assigned.
 */
export function Proposals({ hierarchyId, rules }: { hierarchyId: string; rules: readonly Rule[] }) {
  const text = useText(ruleMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const [isAll, setAll] = useState(false)
  const proposals = useQuery(
    query(
      ['hierarchy', 'listProposals'],
      { params: { id: hierarchyId }, query: { onlyUnassigned: !isAll } },
      { live: ['hierarchy'] },
    ),
  )
  const inOtherNode = proposals.data?.meta.inOtherNode ?? 0
  const shownInOther = formats.number(inOtherNode)
  return (
    <Card title={text.proposals}>
      <CheckField label={text.includeAssigned(inOtherNode, shownInOther)} isChecked={isAll} onChange={setAll} />
      <QueryState query={proposals}>
        {({ data, meta }) => (
          <>
            {!meta.isComplete && data.length > 0 && (
              <p className="quiet">{text.moreProposals(data.length, formats.number(data.length))}</p>
            )}
            <ProposalTable
              key={`${isAll} ${JSON.stringify(rules)}`}
              hierarchyId={hierarchyId}
              proposals={data}
              empty={
                <EmptyState icon={iconProductManagement} title={text.noProposals}>
                  {isAll || inOtherNode === 0 ? (
                    <p>{meta.isComplete ? text.noProposalsHint : text.searchTooLong}</p>
                  ) : (
                    <>
                      <p>{text.onlyOtherNodes(inOtherNode, shownInOther)}</p>
                      <IxButton variant="secondary" onClick={() => setAll(true)}>
                        {text.showOtherNodes}
                      </IxButton>
                    </>
                  )}
                </EmptyState>
              }
            />
          </>
        )}
      </QueryState>
    </Card>
  )
}

type ProposalTableProps = { hierarchyId: string; proposals: readonly Proposal[]; empty: ReactNode }

function ProposalTable({ hierarchyId, proposals, empty }: ProposalTableProps) {
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
  const moved = chosen.filter(({ currentNodeId }) => currentNodeId !== undefined).length
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
            {actionOf(text, formats, { added: chosen.length - moved, moved })}
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
        empty={empty}
      />
      {proposals.length > 0 && <p className="scroll-hint quiet">{text.scrollHint}</p>}
    </>
  )
}

type Text = (typeof ruleMessages)['en']

/** Returns the label of the button that applies proposals. An asset that has another node is moved. */
function actionOf(text: Text, formats: Formats, { added, moved }: { added: number; moved: number }): string {
  if (moved === 0) return text.assign(added, formats.number(added))
  if (added === 0) return text.move(moved, formats.number(moved))
  return text.assignAndMove(formats.number(added), formats.number(moved))
}

/** The maximum width of a column with a name, in pixels. */
const maxWidth = 280

/** The width of the margins and of the checkboxes on a phone, next to which an asset and its proposed node are shown. */
const phoneMargins = 112

function columnsOf(text: Text): Column<Proposal>[] {
  const width = Math.min(maxWidth, Math.floor((innerWidth - phoneMargins) / 2))
  return [
    {
      id: 'asset',
      header: text.asset,
      width,
      cell: ({ assetId, assetName }) => (
        <Link to="/assets/$id" params={{ id: assetId }}>
          {assetName ?? assetId}
        </Link>
      ),
    },
    { id: 'node', header: text.proposedNode, width, cell: ({ nodePath }) => <PathName names={nodePath} /> },
    {
      id: 'current',
      header: text.currentNode,
      width,
      cell: ({ currentNodePath }) => (currentNodePath === undefined ? '–' : <PathName names={currentNodePath} />),
    },
    { id: 'rule', header: text.matchedRule, width: 100, isNumber: true, cell: ({ rule }) => rule + 1 },
  ]
}
