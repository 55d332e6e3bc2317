import type { HierarchyNode, Rule } from '@millwright/api/hierarchy.ts'
import { iconArrowDown, iconArrowUp, iconPlus, iconTrashcan } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useBlocker } from '@tanstack/react-router'
import { useState } from 'react'
import { failureOf } from '../../../app/api/failure.ts'
import { useGateways } from '../../../app/api/gateways.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { useHierarchyRefresh, usePath } from '../hierarchy-data.ts'
import { hierarchyLimits } from '../limits.ts'
import { PathName } from '../node/path-name.tsx'
import { NodeBrowser } from '../tree/node-browser.tsx'
import {
  type DraftRule,
  draftsOf,
  hasChanges,
  isComplete,
  newDraft,
  type RuleError,
  ruleErrors,
  rulesOf,
} from './rule-draft.ts'
import { ruleMessages } from './rule-messages.ts'

type RuleEditorProps = { hierarchyId: string; rules: readonly Rule[] }

/**
 * `RuleEditor` edits the rules of a hierarchy and their order. For each asset, only the first matching rule applies.
 */
export function RuleEditor({ hierarchyId, rules }: RuleEditorProps) {
  const text = useText(ruleMessages)
  const api = useApi()
  const refresh = useHierarchyRefresh()
  const canWrite = usePermission('glb_hierarchy_write')
  const [drafts, setDrafts] = useState(() => draftsOf(rules))
  const [isSubmitted, setSubmitted] = useState(false)
  const [rejected, setRejected] = useState<readonly RuleError[]>([])
  const errors = rejected.filter(({ key }) => drafts.some((draft) => draft.key === key))
  const isChanged = hasChanges(drafts, rules)
  const save = async () => {
    setRejected([])
    try {
      await api.hierarchy.replaceRules({ params: { id: hierarchyId }, body: { data: { rules: rulesOf(drafts) } } })
    } catch (error) {
      const found = ruleErrors(failureOf(error).errors, drafts)
      if (found.length === 0) throw error
      setRejected(found)
      return
    }
    showSuccess(text.saved)
    await refresh()
  }
  const submit = () => {
    setSubmitted(true)
    return drafts.every(isComplete) ? save() : false
  }
  const move = (index: number, step: 1 | -1) => {
    const draft = drafts[index]
    if (draft !== undefined) setDrafts(drafts.toSpliced(index, 1).toSpliced(index + step, 0, draft))
  }
  const list = (
    <ol className="rule-list">
      {drafts.map((draft, index) => (
        <li key={draft.key}>
          <RuleFields
            hierarchyId={hierarchyId}
            draft={draft}
            number={index + 1}
            isReadOnly={!canWrite}
            isSubmitted={isSubmitted}
            errors={errors.filter(({ key }) => key === draft.key)}
            onChange={(next) => {
              setDrafts(drafts.with(index, next))
              setRejected(errors.filter(({ key }) => key !== draft.key))
            }}
          />
          {canWrite && (
            <div className="rule-tools">
              <IxIconButton
                icon={iconArrowUp}
                variant="subtle-tertiary"
                aria-label={text.up(index + 1)}
                disabled={index === 0}
                onClick={() => move(index, -1)}
              />
              <IxIconButton
                icon={iconArrowDown}
                variant="subtle-tertiary"
                aria-label={text.down(index + 1)}
                disabled={index === drafts.length - 1}
                onClick={() => move(index, 1)}
              />
              <IxIconButton
                icon={iconTrashcan}
                variant="subtle-tertiary"
                aria-label={text.remove(index + 1)}
                onClick={() => setDrafts(drafts.toSpliced(index, 1))}
              />
            </div>
          )}
        </li>
      ))}
    </ol>
  )
  return (
    <Card title={text.rules}>
      <p className="card-lead">{drafts.length === 0 ? text.noRules : text.order}</p>
      {canWrite ? (
        <Form
          action={text.save}
          isDisabled={!isChanged}
          onSubmit={submit}
          extraActions={
            <>
              {drafts.length < hierarchyLimits.rules && (
                <IxButton variant="secondary" icon={iconPlus} onClick={() => setDrafts([...drafts, newDraft()])}>
                  {text.add}
                </IxButton>
              )}
              {isChanged && <span className="quiet">{text.unsaved}</span>}
            </>
          }
        >
          {list}
          {errors.length > 0 && (
            <div className="field-error" role="alert">
              {errors.map(({ key, field }) => (
                <p key={`${key} ${field}`}>
                  {text.rejected(drafts.findIndex((draft) => draft.key === key) + 1, text[fieldLabels[field]])}
                </p>
              ))}
            </div>
          )}
        </Form>
      ) : (
        list
      )}
      <UnsavedChanges isChanged={isChanged} />
    </Card>
  )
}

const fieldLabels = { nodeId: 'node', namePattern: 'namePattern', subnet: 'subnet', gatewayId: 'gateway' } as const

/** `UnsavedChanges` asks for confirmation when the user leaves the page with unsaved rules. */
function UnsavedChanges({ isChanged }: { isChanged: boolean }) {
  const text = useText(ruleMessages)
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: () => isChanged,
    withResolver: true,
  })
  if (blocker.status !== 'blocked') return null
  return (
    <ConfirmDialog
      title={text.leaveTitle}
      action={text.discard}
      isDangerous
      onConfirm={async () => blocker.proceed()}
      onClose={blocker.reset}
    >
      <p>{text.leaveText}</p>
    </ConfirmDialog>
  )
}

type RuleFieldsProps = {
  hierarchyId: string
  draft: DraftRule
  number: number
  isReadOnly: boolean
  isSubmitted: boolean
  /** The fields of this rule that the server rejected. */
  errors: readonly RuleError[]
  onChange: (draft: DraftRule) => void
}

function RuleFields({ hierarchyId, draft, number, isReadOnly, isSubmitted, errors, onChange }: RuleFieldsProps) {
  const text = useText(ruleMessages)
  const canListGateways = usePermission('glb_jobs_read')
  const gateways = useGateways({ isEnabled: canListGateways }).data?.data ?? []
  const known = gateways.map(({ id, name }) => ({ value: id, label: name }))
  const isUnknown = draft.gatewayId !== '' && !known.some(({ value }) => value === draft.gatewayId)
  const rejected = (field: RuleError['field']) => errors.find((error) => error.field === field)?.detail
  const hasCondition = draft.namePattern.trim() !== '' || draft.subnet.trim() !== '' || draft.gatewayId !== ''
  return (
    <fieldset className="group rule" disabled={isReadOnly}>
      <legend>{text.rule(number)}</legend>
      <TextField
        label={text.namePattern}
        hint={text.namePatternHint}
        maxLength={128}
        value={draft.namePattern}
        onChange={(namePattern) => onChange({ ...draft, namePattern })}
        error={isSubmitted && !hasCondition ? text.needCondition : rejected('namePattern')}
      />
      <TextField
        label={text.subnet}
        hint={text.subnetHint}
        maxLength={64}
        isCode
        value={draft.subnet}
        onChange={(subnet) => onChange({ ...draft, subnet })}
        error={rejected('subnet') && text.invalidSubnet}
      />
      <SelectField
        label={text.gateway}
        value={draft.gatewayId}
        onChange={(gatewayId) => onChange({ ...draft, gatewayId })}
        error={rejected('gatewayId')}
        choices={[
          { value: '', label: text.anyGateway },
          ...known,
          ...(isUnknown ? [{ value: draft.gatewayId, label: text.unknownGateway }] : []),
        ]}
      />
      <NodeField
        hierarchyId={hierarchyId}
        value={draft.nodeId}
        onChange={(nodeId) => onChange({ ...draft, nodeId })}
        error={isSubmitted && draft.nodeId === '' ? text.needNode : rejected('nodeId')}
      />
    </fieldset>
  )
}

type NodeFieldProps = {
  hierarchyId: string
  value: string
  onChange: (nodeId: string) => void
  error: string | undefined
}

/** `NodeField` shows the path of a node and opens a dialog that selects another node. */
function NodeField({ hierarchyId, value, onChange, error }: NodeFieldProps) {
  const text = useText(ruleMessages)
  const path = usePath(value === '' ? undefined : value)
  const [isOpen, setOpen] = useState(false)
  const names = path.data?.map(({ name }) => name) ?? [
    value === '' ? text.chooseNode : path.error === null ? '…' : text.deletedNode,
  ]
  const choose = ({ id }: HierarchyNode) => {
    onChange(id)
    setOpen(false)
  }
  return (
    <div className="field">
      <span className="field-label" aria-hidden="true">
        {text.node}
      </span>
      <button
        type="button"
        className="input node-field"
        aria-label={`${text.node}: ${names.join(' › ')}`}
        onClick={() => setOpen(true)}
      >
        <PathName names={names} />
      </button>
      {error !== undefined && <p className="field-error">{error}</p>}
      {isOpen && (
        <Dialog title={text.chooseNode} onClose={() => setOpen(false)}>
          <div className="node-choice">
            <NodeBrowser
              hierarchyId={hierarchyId}
              selected={value === '' ? undefined : value}
              onSelect={choose}
              empty={<p className="tree-note">{text.noNodes}</p>}
            />
          </div>
        </Dialog>
      )}
    </div>
  )
}
