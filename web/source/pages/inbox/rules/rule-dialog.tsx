import type { OnboardingRule } from '@millwright/api/inbox.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useGateways } from '../../../app/api/gateways.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField, TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { FilterFields } from '../../assets/filter/filter-panel.tsx'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { TargetFields } from '../triage/target-fields.tsx'
import { ruleMessages } from './messages.ts'
import { draftOf, hasCondition, inputOf, matchOf, matchText, type RuleDraft, updateOf } from './rule-draft.ts'

type RuleDialogProps = {
  rule: OnboardingRule | undefined
  /** Fields that a new rule has at the start. */
  preset?: Partial<RuleDraft> | undefined
  onClose: () => void
}

/** `RuleDialog` creates or edits an onboarding rule. While the user types, it shows which new assets match. */
export function RuleDialog({ rule, preset, onClose }: RuleDialogProps) {
  const text = useText(ruleMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [draft, setDraft] = useState(() => ({ ...draftOf(rule), ...preset }))
  const [isSubmitted, setSubmitted] = useState(false)
  const confirm = async () => {
    setSubmitted(true)
    if (draft.name.trim() === '' || !hasCondition(draft)) return false
    if (rule === undefined) await api.inbox.createOnboardingRule({ body: { data: inputOf(draft) } })
    else await api.inbox.updateOnboardingRule({ params: { id: rule.id }, body: { data: updateOf(draft) } })
    showSuccess(text.saved)
    await queryClient.invalidateQueries({ queryKey: keyOf('inbox') })
    return true
  }
  return (
    <ConfirmDialog
      title={rule === undefined ? text.create : text.editTitle}
      action={text.save}
      onConfirm={confirm}
      onClose={onClose}
    >
      <RuleFields draft={draft} isSubmitted={isSubmitted} onChange={setDraft} />
    </ConfirmDialog>
  )
}

type RuleFieldsProps = { draft: RuleDraft; isSubmitted: boolean; onChange: (draft: RuleDraft) => void }

function RuleFields({ draft, isSubmitted, onChange }: RuleFieldsProps) {
  const text = useText(ruleMessages)
  const canListGateways = usePermission('glb_jobs_read')
  const gateways = useGateways({ isEnabled: canListGateways }).data?.data ?? []
  const properties = useAssetProperties()
  const set = (change: Partial<RuleDraft>) => onChange({ ...draft, ...change })
  return (
    <div className="form">
      <TextField
        label={text.name}
        value={draft.name}
        maxLength={128}
        isRequired
        onChange={(name) => set({ name })}
        error={isSubmitted && draft.name.trim() === '' ? text.needName : undefined}
      />
      <fieldset className="group">
        <legend>{text.conditions}</legend>
        {canListGateways && (
          <SelectField
            label={text.gateway}
            value={draft.gatewayId}
            onChange={(gatewayId) => set({ gatewayId })}
            choices={[
              { value: '', label: text.anyGateway },
              ...gateways.map(({ id, name }) => ({ value: id, label: name })),
            ]}
          />
        )}
        <TextAreaField
          label={text.ranges}
          hint={text.rangesHint}
          rows={2}
          isCode
          value={draft.ranges}
          onChange={(ranges) => set({ ranges })}
          error={isSubmitted && !hasCondition(draft) ? text.needCondition : undefined}
        />
        <details open={draft.filter !== ''}>
          <summary>{text.filter}</summary>
          <FilterFields filter={draft.filter} properties={properties} onChange={(filter) => set({ filter })} />
        </details>
        <Preview draft={draft} />
      </fieldset>
      <fieldset className="group">
        <legend>{text.target}</legend>
        <TargetFields
          target={{ accessGroupId: draft.accessGroupId, nodeId: draft.nodeId }}
          onChange={(target) => set(target)}
        />
      </fieldset>
      <SelectField
        label={text.what}
        hint={draft.isAutomatic ? text.automaticHint : text.proposeHint}
        value={draft.isAutomatic ? 'automatic' : 'propose'}
        onChange={(mode) => set({ isAutomatic: mode === 'automatic' })}
        choices={[
          { value: 'propose', label: text.propose },
          { value: 'automatic', label: text.automatic },
        ]}
      />
      {draft.isAutomatic && (
        <TextField
          label={text.cap}
          hint={text.capHint}
          type="number"
          value={draft.cap}
          onChange={(cap) => set({ cap })}
        />
      )}
    </div>
  )
}

/** The delay after the last change before the preview is loaded. */
const debounceMs = 400

/** `Preview` shows how many new assets match the conditions now, and the names of some of them. */
function Preview({ draft }: { draft: RuleDraft }) {
  const text = useText(ruleMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const match = JSON.stringify(matchOf(draft))
  const [shown, setShown] = useState(match)
  useEffect(() => {
    const timer = setTimeout(() => setShown(match), debounceMs)
    return () => clearTimeout(timer)
  }, [match])
  const isComplete = hasCondition(draft)
  const preview = useQuery({
    ...query(['inbox', 'previewOnboardingRule'], { body: { data: JSON.parse(shown) } }),
    enabled: isComplete && shown !== '{}',
    retry: false,
  })
  if (!isComplete) return null
  const { data } = preview.data ?? {}
  return (
    <div className="rule-preview" role="status">
      {preview.error !== null ? (
        <p className="field-error" lang="en">
          {preview.error.message}
        </p>
      ) : data === undefined || shown !== match ? (
        <p className="quiet">{text.previewing}</p>
      ) : (
        <>
          <p>
            <strong>{matchText(data, text, formats.number(data.matched))}</strong>
          </p>
          {!data.isComplete && <p className="quiet">{text.searchStopped}</p>}
          {data.assets.length > 0 && (
            <p className="quiet">
              {data.assets
                .slice(0, 6)
                .map(({ id, name }) => name ?? id)
                .join(', ')}{' '}
              {data.matched > 6 && text.andMore(formats.number(data.matched - 6))}
            </p>
          )}
          {data.problem !== undefined && (
            <p className="field-error" lang="en">
              {data.problem}
            </p>
          )}
        </>
      )}
    </div>
  )
}
