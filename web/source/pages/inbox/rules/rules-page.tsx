import type { OnboardingRule } from '@millwright/api/inbox.ts'
import { iconPlus, iconTasksOpen } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { failureOf } from '../../../app/api/failure.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { MenuButton, type MenuEntry } from '../../../components/actions/menu-button.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { useConditionWords } from '../../assets/filter/condition-words.ts'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { ruleMessages } from './messages.ts'
import { RuleDialog } from './rule-dialog.tsx'
import type { RuleDraft } from './rule-draft.ts'
import { RuleLog } from './rule-log.tsx'
import '../../assets/assets.css'
import '../inbox.css'

type OpenDialog =
  | { kind: 'create'; preset?: Partial<RuleDraft> }
  | { kind: 'edit' | 'log' | 'delete'; rule: OnboardingRule }

/** `RulesPage` lists the onboarding rules in their order, and edits them. */
export function RulesPage() {
  const text = useText(ruleMessages)
  usePageTitle(text.title)
  const canWrite = usePermission('inventory_write_asset_data')
  const query = useOperationQuery()
  const rules = useQuery(query(['inbox', 'listOnboardingRules'], {}, { live: ['inbox.rule'] }))
  const counted = useQuery(query(['inbox', 'countProposals'], {}, { live: ['inventory.asset', 'inbox.rule'] }))
  const waiting = new Map(counted.data?.data.rules.map(({ ruleId, assets }) => [ruleId, assets]))
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = () => setDialog(undefined)
  const create = canWrite && (
    <IxButton icon={iconPlus} onClick={() => setDialog({ kind: 'create' })}>
      {text.create}
    </IxButton>
  )
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        above={<ParentLink to="/inbox">{text.inbox}</ParentLink>}
        actions={rules.data?.data.length !== 0 && create}
      />
      <QueryState query={rules}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon={iconTasksOpen} title={text.none}>
              <p>{text.noneText}</p>
              <p className="quiet">{text.appliesTo}</p>
              {create}
              {canWrite && <Suggestions onCreate={(preset) => setDialog({ kind: 'create', preset })} />}
            </EmptyState>
          ) : (
            <ol className="rule-cards">
              {data.map((rule, index) => (
                <li key={rule.id}>
                  <RuleCard
                    rule={rule}
                    waiting={waiting.get(rule.id) ?? 0}
                    canWrite={canWrite}
                    isFirst={index === 0}
                    isLast={index === data.length - 1}
                    onOpen={(kind) => setDialog({ kind, rule })}
                  />
                </li>
              ))}
            </ol>
          )
        }
      </QueryState>
      {dialog?.kind === 'create' && <RuleDialog rule={undefined} preset={dialog.preset} onClose={close} />}
      {dialog?.kind === 'edit' && <RuleDialog rule={dialog.rule} onClose={close} />}
      {dialog?.kind === 'log' && <RuleLog rule={dialog.rule} onClose={close} />}
      {dialog?.kind === 'delete' && <DeleteDialog rule={dialog.rule} onClose={close} />}
    </>
  )
}

/** The number of subnets for which rules are suggested. */
const suggestedSubnets = 3

/** `Suggestions` offers a rule for each of the subnets with the most new assets. */
function Suggestions({ onCreate }: { onCreate: (preset: Partial<RuleDraft>) => void }) {
  const text = useText(ruleMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const facets = useQuery(query(['inbox', 'readInboxFacets'], { query: { state: 'unknown' } })).data?.data
  const subnets = (facets?.subnet ?? []).flatMap(({ value, count }) => (value === null ? [] : [{ value, count }]))
  if (subnets.length === 0) return null
  return (
    <section className="rule-suggestions" aria-label={text.suggestions}>
      <h2>{text.suggestions}</h2>
      <ul>
        {subnets.slice(0, suggestedSubnets).map(({ value, count }) => (
          <li key={value}>
            <span>
              <strong>{value}</strong>{' '}
              <Link to="/inbox" search={{ subnet: value } as never}>
                {text.suggestion(count, formats.number(count))}
              </Link>
            </span>
            <IxButton
              variant="secondary"
              aria-label={text.createForSubnet(value)}
              onClick={() => onCreate({ name: text.subnetName(value), ranges: value })}
            >
              {text.createFor}
            </IxButton>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The period of the number of assets that a rule has onboarded. */
const usePeriodMs = 90 * 86_400_000

type RuleCardProps = {
  rule: OnboardingRule
  /** The number of new assets for which the rule proposes a target. */
  waiting: number
  canWrite: boolean
  isFirst: boolean
  isLast: boolean
  onOpen: (kind: 'edit' | 'log' | 'delete') => void
}

function RuleCard({ rule, waiting, canWrite, isFirst, isLast, onOpen }: RuleCardProps) {
  const text = useText(ruleMessages)
  const formats = useFormats()
  const api = useApi()
  const queryClient = useQueryClient()
  const conditionText = useConditionText()
  const { id, name, position, mode, cap, paused, pauseReason, author } = rule
  const { onboarded, lastDecisionTimestamp, lastRunTimestamp, createdTimestamp } = rule
  const change = async (data: { paused?: boolean; position?: number }, message?: string) => {
    try {
      await api.inbox.updateOnboardingRule({ params: { id }, body: { data } })
      if (message !== undefined) showSuccess(message)
    } catch (error) {
      showError(failureOf(error).message)
    }
    await queryClient.invalidateQueries({ queryKey: keyOf('inbox') })
  }
  const entries: MenuEntry[] = [{ kind: 'item', label: text.log, onSelect: () => onOpen('log') }]
  if (canWrite) {
    const pause = () => change({ paused: !paused }, paused ? text.resumed : text.wasPaused)
    const move = (by: number) => change({ position: position + by })
    entries.push(
      { kind: 'item', label: text.edit, onSelect: () => onOpen('edit') },
      { kind: 'item', label: paused ? text.resume : text.pause, onSelect: pause },
      { kind: 'line' },
      { kind: 'item', label: text.up, isDisabled: isFirst, onSelect: () => move(-1) },
      { kind: 'item', label: text.down, isDisabled: isLast, onSelect: () => move(1) },
      { kind: 'line' },
      { kind: 'item', label: text.remove, onSelect: () => onOpen('delete') },
    )
  }
  return (
    <article className="rule-card">
      {isFirst && isLast ? (
        <span />
      ) : (
        <span className="rule-order">
          {text.order} <strong>{position}</strong>
        </span>
      )}
      <h2>
        {name}
        {paused ? (
          <StatusChip tone="warning">{text.paused}</StatusChip>
        ) : (
          mode === 'automatic' && <StatusChip tone="good">{text.isAutomatic(formats.number(cap))}</StatusChip>
        )}
      </h2>
      <div>
        <p className="rule-sentence">
          {(mode === 'automatic' ? text.onboards : text.proposesFor)(conditionText(rule))}
        </p>
        <RuleTarget rule={rule} />
        {pauseReason !== undefined && (
          <p className="rule-paused" lang="en">
            {pauseReason}
          </p>
        )}
        <p className="quiet">
          {lastDecisionTimestamp === undefined
            ? unusedText({ isNew: Date.now() - Date.parse(createdTimestamp) < usePeriodMs, mode }, text)
            : text.onboarded(onboarded, formats.number(onboarded), formats.compact(lastDecisionTimestamp))}{' '}
          {mode === 'automatic' &&
            `${lastRunTimestamp === undefined ? text.neverRan : text.ran(formats.compact(lastRunTimestamp))} `}
          {mode === 'automatic' ? text.runsAs(author) : text.author(author, formats.compact(createdTimestamp))}.
        </p>
      </div>
      <div className="rule-actions">
        {waiting > 0 && (
          <Link
            to="/inbox"
            search={{ rule: id } as never}
            className="button-link"
            aria-label={`${text.review(waiting, formats.number(waiting))}: ${name}`}
          >
            {text.review(waiting, formats.number(waiting))}
          </Link>
        )}
        <MenuButton label={text.more} name={`${text.more}: ${name}`} entries={entries} isAtEnd />
      </div>
    </article>
  )
}

type Unused = { isNew: boolean; mode: OnboardingRule['mode'] }

/** Returns the text of a rule that has onboarded no assets: in the period of the number, or since it was created. */
function unusedText({ isNew, mode }: Unused, text: (typeof ruleMessages)['en']): string {
  if (mode === 'propose') return isNew ? text.noneAccepted : text.noneAcceptedLately
  return isNew ? text.notUsedYet : text.onboardedNone
}

/** `RuleTarget` shows the access group and the hierarchy node that devices get from a rule. */
function RuleTarget({ rule: { accessGroup, accessGroupId, nodePath, nodeId } }: { rule: OnboardingRule }) {
  const text = useText(ruleMessages)
  return (
    <dl className="rule-target">
      <div>
        <dt>{text.accessGroup}</dt>
        <dd data-empty={accessGroupId === undefined}>
          {accessGroupId === undefined ? text.keepsGroup : (accessGroup ?? accessGroupId)}
        </dd>
      </div>
      <div>
        <dt>{text.place}</dt>
        <dd data-empty={nodeId === undefined}>
          {nodeId === undefined ? text.withoutNode : (nodePath?.join(' › ') ?? nodeId)}
        </dd>
      </div>
    </dl>
  )
}

/** Returns a function that describes the conditions of a rule in one sentence. */
function useConditionText(): (rule: OnboardingRule) => string {
  const text = useText(ruleMessages)
  const { filterText } = useConditionWords(useAssetProperties())
  return ({ gatewayId, gatewayName, ranges, filter }) =>
    [
      gatewayId !== undefined && text.from(gatewayName ?? gatewayId),
      ranges.length > 0 && text.in(ranges.join(', ')),
      filter !== undefined && text.matching(filterText(filter, text.and)),
    ]
      .filter((part) => part !== false)
      .join(' ')
}

function DeleteDialog({ rule: { id, name }, onClose }: { rule: OnboardingRule; onClose: () => void }) {
  const text = useText(ruleMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const confirm = async () => {
    await api.inbox.deleteOnboardingRule({ params: { id } })
    showSuccess(text.deleted)
    await queryClient.invalidateQueries({ queryKey: keyOf('inbox') })
  }
  return (
    <ConfirmDialog
      title={text.deleteTitle(name)}
      action={text.delete}
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>{text.deleteText}</p>
    </ConfirmDialog>
  )
}
