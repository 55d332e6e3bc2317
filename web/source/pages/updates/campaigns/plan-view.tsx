import { type Plan, type PlannedDevice, type PlanOutcome, planOutcomes } from '@millwright/api/updates.ts'
import { IxButton } from '@siemens/ix-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Failure } from '../../../app/api/failure.ts'
import { keyOf } from '../../../app/api/queries.ts'
import type { Formats } from '../../../app/language/formats.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { Card } from '../../../components/page/card.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { KeyFigures } from '../../../components/values/key-figures.tsx'
import { Time } from '../../../components/values/time.tsx'
import { OutcomeChip } from '../state-chips.tsx'
import { outcomeNames } from '../state-names.ts'
import { stepsText } from '../version-steps.ts'
import { type CampaignText, campaignMessages } from './messages.ts'

const pageSize = 200

/** Computes the plan of a draft. The devices are loaded page by page. */
export function usePlan(id: string, outcome?: PlanOutcome) {
  const api = useApi()
  return useInfiniteQuery<Plan, Failure, { pages: Plan[] }, readonly unknown[], number>({
    queryKey: keyOf('updates', 'planCampaign', { id, outcome }),
    initialPageParam: 0,
    queryFn: async ({ pageParam: offset, signal }) => {
      const query = { limit: pageSize, offset, ...(outcome && { outcome }) }
      const input = { params: { id }, query, signal }
      return (await api.updates.planCampaign(input)).data
    },
    getNextPageParam: ({ nextOffset }) => nextOffset,
    placeholderData: (before) => before,
  })
}

/** `PlanView` shows what a draft would do: counts for each outcome, reasons, and each asset with its order. */
export function PlanView({ campaignId }: { campaignId: string }) {
  const text = useText(campaignMessages)
  const names = useText(outcomeNames)
  const formats = useFormats()
  const [outcome, setOutcome] = useState<PlanOutcome>()
  const plan = usePlan(campaignId, outcome)
  const first = plan.data?.pages[0]
  if (first === undefined) {
    return plan.error === null ? (
      <Loading label={text.computing} />
    ) : (
      <ProblemMessage failure={plan.error} onRetry={() => plan.refetch()} />
    )
  }
  const { summary } = first
  const rows = plan.data?.pages.flatMap(({ devices }) => devices) ?? []
  const next = () => {
    if (plan.hasNextPage && !plan.isFetchingNextPage) plan.fetchNextPage()
  }
  const shown = planOutcomes.filter((each) => each === 'update' || summary.outcomes[each] > 0)
  return (
    <div className="board">
      <Card
        title={text.plan}
        actions={
          <IxButton variant="secondary" loading={plan.isRefetching} onClick={() => plan.refetch()}>
            {text.recompute}
          </IxButton>
        }
      >
        <p className="quiet">{text.planHint}</p>
        {plan.error !== null && <ProblemMessage failure={plan.error} />}
        <KeyFigures
          figures={[
            { name: text.planTargets, value: formats.number(summary.targets) },
            ...shown.map((each) => ({ name: names[each], value: formats.number(summary.outcomes[each]) })),
          ]}
        />
        {summary.outcomes.update === 0 && (
          <p className="remark" role="status">
            {text.noUpdates}
          </p>
        )}
        {summary.waves.length > 1 && (
          <ul className="picked-assets plan-waves" aria-label={text.waves}>
            {summary.waves.map(({ wave, devices }) => (
              <li key={wave}>{text.planWaves(wave, text.deviceCount(devices, formats.number(devices)))}</li>
            ))}
          </ul>
        )}
      </Card>
      {summary.reasons.length > 0 && (
        <Card title={text.reasons}>
          <ul className="reason-list">
            {summary.reasons.map((group) => (
              <li key={`${group.outcome} ${group.reason}`}>
                <OutcomeChip outcome={group.outcome} />
                <span lang="en">{group.reason}</span>
                <span className="reason-count">{text.deviceCount(group.devices, formats.number(group.devices))}</span>
              </li>
            ))}
          </ul>
        </Card>
      )}
      <div>
        <Toolbar>
          <SelectField
            label={text.outcome}
            isLabelUnseen
            value={outcome ?? ''}
            onChange={(value) => setOutcome(planOutcomes.find((each) => each === value))}
            choices={[
              { value: '', label: text.anyOutcome },
              ...planOutcomes.map((value) => ({ value, label: names[value] })),
            ]}
          />
        </Toolbar>
        <DataTable
          label={text.plan}
          rows={rows}
          columns={columnsOf(text, formats)}
          idOf={({ assetId }) => assetId}
          onEnd={next}
          empty={
            <EmptyState title={text.noTargets}>
              <p>{text.noTargetsHint}</p>
            </EmptyState>
          }
        />
      </div>
    </div>
  )
}

function columnsOf(text: CampaignText, formats: Formats): Column<PlannedDevice>[] {
  return [
    {
      id: 'asset',
      header: text.asset,
      width: 220,
      cell: ({ assetId, assetName }) => <Link to={`/assets/${assetId}`}>{assetName ?? assetId}</Link>,
    },
    { id: 'outcome', header: text.outcome, width: 200, cell: ({ outcome }) => <OutcomeChip outcome={outcome} /> },
    { id: 'versions', header: text.versions, width: 200, cell: (device) => versionsOf(device, text) },
    {
      id: 'wave',
      header: text.waveColumn,
      width: 80,
      isNumber: true,
      cell: ({ wave, outcome }) => (outcome === 'update' ? wave : ''),
    },
    {
      id: 'order',
      header: text.order,
      width: 110,
      isNumber: true,
      cell: ({ order, outcome }) => (outcome === 'update' ? formats.number(order + 1) : ''),
    },
    {
      id: 'after',
      header: text.after,
      width: 110,
      cell: ({ after }) => (after.length === 0 ? '' : text.afterCount(formats.number(after.length))),
    },
    {
      id: 'window',
      header: text.nextWindow,
      width: 170,
      cell: ({ nextWindow }) => nextWindow !== undefined && <Time at={nextWindow} />,
    },
    { id: 'reason', header: text.reason, width: 420, cell: ({ reason }) => reason },
  ]
}

/** Returns the path of versions of an asset that is updated, and the installed version of another asset. */
function versionsOf(device: PlannedDevice, text: CampaignText): string {
  return device.steps.length === 0
    ? (device.fromVersion ?? text.unknownVersion)
    : stepsText(device, text.unknownVersion)
}
