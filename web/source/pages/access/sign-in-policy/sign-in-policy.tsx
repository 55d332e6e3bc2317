import { type StepUpAction, signInLimits, stepUpActions } from '@millwright/api/sign-in-limits.ts'
import type { SignInPolicy } from '@millwright/api/sign-in-security.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { isFailure } from '../../../app/api/failure.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { CheckField, SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { policyMessages } from './messages.ts'
import { changesOf, type Duration, durationOf, formOf, type PolicyForm } from './policy-form.ts'

/** `SignInPolicyView` shows and changes the sign-in policy of the tenant. */
export function SignInPolicyView() {
  const query = useOperationQuery()
  const policy = useQuery(query(['identity', 'readSignInPolicy'], {}, { live: ['identity'] }))
  return (
    <QueryState query={policy}>{({ data }) => <PolicyEditor key={JSON.stringify(data)} policy={data} />}</QueryState>
  )
}

function PolicyEditor({ policy }: { policy: SignInPolicy }) {
  const text = useText(policyMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [form, setForm] = useState(() => formOf(policy))
  const [isFactorMissing, setFactorMissing] = useState(false)
  const changes = changesOf(form, policy)
  const change = (changed: Partial<PolicyForm>) => setForm({ ...form, ...changed })
  const save = async (data: Partial<SignInPolicy>) => {
    setFactorMissing(false)
    try {
      await api.identity.updateSignInPolicy({ body: { data } })
    } catch (error) {
      if (isFailure(error, 'second_factor_required')) return setFactorMissing(true)
      throw error
    }
    showSuccess(text.saved)
    await queryClient.invalidateQueries({ queryKey: keyOf('identity') })
  }
  const submit = () => (changes === undefined ? false : save(changes))
  return (
    <Form action={text.save} isDisabled={changes !== undefined && Object.keys(changes).length === 0} onSubmit={submit}>
      <fieldset className="group">
        <legend>{text.secondFactorTitle}</legend>
        <SelectField
          label={text.secondFactor}
          hint={text.secondFactorHint}
          value={form.secondFactor}
          onChange={(secondFactor) => change({ secondFactor })}
          choices={(['nobody', 'administrators', 'everyone'] as const).map((value) => ({ value, label: text[value] }))}
        />
        {isFactorMissing && (
          <p className="field-error" role="alert">
            {text.needsOwn}{' '}
            <Link to="/account" search={{ view: 'security' } as never}>
              {text.toSecurity}
            </Link>
          </p>
        )}
      </fieldset>
      <fieldset className="group">
        <legend>{text.stepUpTitle}</legend>
        <p className="field-hint">{text.stepUpHint}</p>
        {stepUpActions.map((action) => (
          <CheckField
            key={action}
            label={actionName(action, text)}
            isChecked={form.stepUp.includes(action)}
            onChange={(isChecked) =>
              change({
                stepUp: stepUpActions.filter((each) => (each === action ? isChecked : form.stepUp.includes(each))),
              })
            }
          />
        ))}
        <DurationField field="stepUpMinutes" form={form} onChange={change} isDisabled={form.stepUp.length === 0} />
      </fieldset>
      <fieldset className="group">
        <legend>{text.sessionTitle}</legend>
        <p className="field-hint">{text.sessionHint}</p>
        <DurationField field="idleMinutes" form={form} onChange={change} />
        <DurationField field="absoluteHours" form={form} onChange={change} />
      </fieldset>
    </Form>
  )
}

type Text = (typeof policyMessages)['en']

function actionName(action: StepUpAction, text: Text): string {
  return action === 'remote-access' ? text.remoteAccess : text[action]
}

type DurationFieldProps = {
  field: Duration
  form: PolicyForm
  onChange: (changed: Partial<PolicyForm>) => void
  isDisabled?: boolean
}

/** `DurationField` is a number of minutes or hours. The hint shows the value in a larger unit, if there is one. */
function DurationField({ field, form, onChange, isDisabled = false }: DurationFieldProps) {
  const text = useText(policyMessages)
  const formats = useFormats()
  const { minimum, maximum } = signInLimits[field]
  const value = durationOf(form, field)
  const [unitMinutes, largerUnit] = field === 'absoluteHours' ? [60, 24] : [1, 60]
  const hasLargerUnit = value !== undefined && value % largerUnit === 0
  return (
    <TextField
      label={text[field]}
      type="number"
      {...(hasLargerUnit && { hint: text.equals(formats.minutes(value * unitMinutes)) })}
      error={value === undefined ? text.range(formats.number(minimum), formats.number(maximum)) : undefined}
      isDisabled={isDisabled}
      value={form[field]}
      onChange={(typed) => onChange({ [field]: typed })}
    />
  )
}
