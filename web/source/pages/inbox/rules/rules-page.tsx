import type { OnboardingRule } from '@millwright/api/inbox.ts'
import { iconArrowDown, iconArrowUp, iconPlus, iconTasksOpen } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { failureOf } from '../../../app/api/failure.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { MenuButton, type MenuEntry } from '../../../components/actions/menu-button.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { announce } from '../../../components/feedback/announcement.ts'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { StatusText } from '../../../components/values/status-text.tsx'
import { useConditionWords } from '../../assets/filter/condition-words.ts'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { ruleMessages } from './messages.ts'
import { RuleDialog } from './rule-dialog.tsx'
import type { RuleDraft } from './rule-draft.ts'
import { RuleLog } from './rule-log.tsx'
import { conditionTexts, resultText, ruleState } from './rule-words.ts'
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
  const moveRule = useMoveRule(rules.data?.data)
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
                    onMove={moveRule}
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

type RuleCardProps = {
  rule: OnboardingRule
  /** The number of new assets for which the rule proposes a target. */
  waiting: number
  canWrite: boolean
  isFirst: boolean
  isLast: boolean
  onMove: (rule: OnboardingRule, step: Step) => void
  onOpen: (kind: 'edit' | 'log' | 'delete') => void
}

function RuleCard({ rule, waiting, canWrite, isFirst, isLast, onMove, onOpen }: RuleCardProps) {
  const text = useText(ruleMessages)
  const formats = useFormats()
  const { id, name, position, paused, pauseReason, accessGroup, accessGroupId } = rule
  const changeRule = useChangeRule()
  const { tone, label } = ruleState(rule, text)
  const entries: MenuEntry[] = [{ kind: 'item', label: text.log, onSelect: () => onOpen('log') }]
  if (canWrite) {
    const pause = () => changeRule(id, { paused: !paused }, paused ? text.resumed : text.wasPaused)
    entries.push(
      { kind: 'item', label: paused ? text.resume : text.pause, onSelect: pause },
      { kind: 'line' },
      { kind: 'item', label: text.remove, onSelect: () => onOpen('delete') },
    )
  }
  const moves = [
    ['-1', iconArrowUp, text.up, isFirst],
    ['1', iconArrowDown, text.down, isLast],
  ] as const
  return (
    <article className="rule-card" data-rule={id}>
      <h2>
        <span className="rule-order" title={text.order}>
          {position}
        </span>
        <span>{name}</span>
        <StatusChip tone={tone}>{label}</StatusChip>
      </h2>
      <div className="rule-actions">
        {waiting > 0 && (
          <Link
            to="/inbox"
            search={{ rule: id } as never}
            className="button-link secondary"
            aria-label={`${text.review(waiting, formats.number(waiting))}: ${name}`}
          >
            {text.review(waiting, formats.number(waiting))}
          </Link>
        )}
        {canWrite && (
          <>
            {!(isFirst && isLast) &&
              moves.map(([step, icon, action, isDisabled]) => (
                // The disabled state of a button of the browser changes at once, so that it can get the focus.
                <button
                  key={step}
                  type="button"
                  className="menu-button rule-move"
                  data-step={step}
                  aria-label={`${action}: ${name}`}
                  title={action}
                  disabled={isDisabled}
                  onClick={() => onMove(rule, Number(step) as Step)}
                >
                  <Icon name={icon} size={16} />
                </button>
              ))}
            <IxButton variant="secondary" aria-label={`${text.edit}: ${name}`} onClick={() => onOpen('edit')}>
              {text.edit}
            </IxButton>
          </>
        )}
        <MenuButton label={text.more} name={`${text.more}: ${name}`} entries={entries} isAtEnd />
      </div>
      {pauseReason !== undefined && (
        <p className="rule-paused" lang="en">
          {pauseReason}
        </p>
      )}
      <div className="rule-facts">
        <KeyValueList
          items={[
            { name: text.allConditions, value: <Conditions rule={rule} /> },
            {
              name: text.accessGroup,
              value: accessGroupId === undefined ? text.keepsGroup : (accessGroup ?? accessGroupId),
            },
            {
              name: text.place,
              value: <Place rule={rule} onEdit={canWrite ? () => onOpen('edit') : undefined} />,
            },
            { name: text.result, value: <Result rule={rule} /> },
            rule.mode === 'automatic'
              ? { name: text.rights, value: rule.author }
              : { name: text.created, value: `${rule.author}, ${formats.compact(rule.createdTimestamp)}` },
          ]}
        />
      </div>
    </article>
  )
}

/** `Conditions` lists the conditions of a rule. All of them must match. */
function Conditions({ rule }: { rule: OnboardingRule }) {
  const text = useText(ruleMessages)
  const { filterTexts } = useConditionWords(useAssetProperties())
  return (
    <ul className="rule-conditions">
      {conditionTexts(rule, text, filterTexts).map((condition, index) => (
        <li key={condition}>
          {index > 0 && <span className="quiet">{text.and} </span>}
          <span className="rule-condition">{condition}</span>
        </li>
      ))}
    </ul>
  )
}

type PlaceProps = { rule: OnboardingRule; onEdit: (() => void) | undefined }

/** `Place` shows the hierarchy node that assets get from a rule, or that it is missing. */
function Place({ rule: { name, nodeId, nodePath }, onEdit }: PlaceProps) {
  const text = useText(ruleMessages)
  if (nodeId !== undefined) return nodePath?.join(' › ') ?? nodeId
  return (
    <span className="rule-place">
      <StatusText tone="warning">{text.withoutNode}</StatusText>
      {onEdit !== undefined && (
        <button type="button" className="link-button" aria-label={`${text.setNode}: ${name}`} onClick={onEdit}>
          {text.setNode}
        </button>
      )}
    </span>
  )
}

/** `Result` shows what a rule has done, and when an automatic rule ran last. */
function Result({ rule }: { rule: OnboardingRule }) {
  const text = useText(ruleMessages)
  const formats = useFormats()
  const { mode, cap, lastRunTimestamp } = rule
  const sentences =
    mode === 'automatic'
      ? [
          lastRunTimestamp === undefined ? text.neverRan : text.ran(formats.compact(lastRunTimestamp)),
          text.atMost(formats.number(cap)),
        ]
      : []
  return [resultText(rule, text, formats), ...sentences].join(' ')
}

/** Returns a function that changes a rule, and shows a message or the error. */
function useChangeRule() {
  const api = useApi()
  const queryClient = useQueryClient()
  return async (id: string, data: { paused?: boolean; position?: number }, message?: string) => {
    try {
      await api.inbox.updateOnboardingRule({ params: { id }, body: { data } })
      if (message !== undefined) showSuccess(message)
    } catch (error) {
      showError(failureOf(error).message)
    }
    await queryClient.invalidateQueries({ queryKey: keyOf('inbox') })
  }
}

type Step = -1 | 1

/**
 * Returns a function that moves a rule by one place. The button keeps the focus, which the browser removes from an element that moves
 * in the document. At the first and the last place, the button for the other direction gets the focus.
 */
function useMoveRule(rules: readonly OnboardingRule[] | undefined) {
  const text = useText(ruleMessages)
  const changeRule = useChangeRule()
  const moved = useRef<{ id: string; step: Step; position: number }>(undefined)
  useEffect(() => {
    if (moved.current === undefined || rules === undefined) return
    const { id, step, position } = moved.current
    const rule = rules.find((each) => each.id === id)
    if (rule?.position !== position) return
    moved.current = undefined
    const button = (direction: number) =>
      document.querySelector<HTMLElement>(`[data-rule="${id}"] [data-step="${direction}"]`)
    const isAtEnd = position === (step === 1 ? rules.length : 1)
    button(isAtEnd ? -step : step)?.focus()
    announce(text.ruleAt(rule.name, position, rules.length))
  }, [rules, text])
  return ({ id, position }: OnboardingRule, step: Step) => {
    moved.current = { id, step, position: position + step }
    return changeRule(id, { position: position + step })
  }
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
