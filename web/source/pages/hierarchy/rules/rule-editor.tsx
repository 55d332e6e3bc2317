import type { HierarchyNode, Rule } from '@millwright/api/hierarchy.ts'
import { iconArrowDown, iconArrowUp, iconPlus, iconTrashcan } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useGateways } from '../../../app/api/gateways.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { useHierarchyRefresh, usePath } from '../hierarchy-data.ts'
import { hierarchyLimits } from '../limits.ts'
import { NodeBrowser } from '../tree/node-browser.tsx'
import { type DraftRule, draftsOf, isComplete, newDraft, rulesOf } from './rule-draft.ts'
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
  const save = async () => {
    await api.hierarchy.replaceRules({ params: { id: hierarchyId }, body: { data: { rules: rulesOf(drafts) } } })
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
            onChange={(next) => setDrafts(drafts.with(index, next))}
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
          onSubmit={submit}
          extraActions={
            drafts.length < hierarchyLimits.rules && (
              <IxButton variant="secondary" icon={iconPlus} onClick={() => setDrafts([...drafts, newDraft()])}>
                {text.add}
              </IxButton>
            )
          }
        >
          {list}
        </Form>
      ) : (
        list
      )}
    </Card>
  )
}

type RuleFieldsProps = {
  hierarchyId: string
  draft: DraftRule
  number: number
  isReadOnly: boolean
  isSubmitted: boolean
  onChange: (draft: DraftRule) => void
}

function RuleFields({ hierarchyId, draft, number, isReadOnly, isSubmitted, onChange }: RuleFieldsProps) {
  const text = useText(ruleMessages)
  const canListGateways = usePermission('glb_jobs_read')
  const gateways = useGateways({ isEnabled: canListGateways }).data?.data ?? []
  const known = gateways.map(({ id, name }) => ({ value: id, label: name }))
  const isUnknown = draft.gatewayId !== '' && !known.some(({ value }) => value === draft.gatewayId)
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
        error={isSubmitted && !hasCondition ? text.needCondition : undefined}
      />
      <TextField
        label={text.subnet}
        hint={text.subnetHint}
        maxLength={64}
        isCode
        value={draft.subnet}
        onChange={(subnet) => onChange({ ...draft, subnet })}
      />
      <SelectField
        label={text.gateway}
        value={draft.gatewayId}
        onChange={(gatewayId) => onChange({ ...draft, gatewayId })}
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
        error={isSubmitted && draft.nodeId === '' ? text.needNode : undefined}
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
  const names = path.data?.map(({ name }) => name).join(' › ')
  const shown = value === '' ? text.chooseNode : (names ?? (path.error === null ? '…' : text.deletedNode))
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
        aria-label={`${text.node}: ${shown}`}
        onClick={() => setOpen(true)}
      >
        {shown}
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
