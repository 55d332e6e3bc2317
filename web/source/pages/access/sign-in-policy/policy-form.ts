import { signInLimits } from '@millwright/api/sign-in-limits.ts'
import type { SignInPolicy } from '@millwright/api/sign-in-security.ts'
import { integerOf } from '../../../components/forms/integer.ts'

export const durations = ['stepUpMinutes', 'idleMinutes', 'absoluteHours'] as const
export type Duration = (typeof durations)[number]

/** `PolicyForm` contains the fields of the sign-in policy as the user types them. */
export type PolicyForm = Omit<SignInPolicy, Duration> & Record<Duration, string>

export function formOf(policy: SignInPolicy): PolicyForm {
  return {
    ...policy,
    stepUpMinutes: String(policy.stepUpMinutes),
    idleMinutes: String(policy.idleMinutes),
    absoluteHours: String(policy.absoluteHours),
  }
}

/** Returns the number in a field, or undefined if it is not within its limits. */
export function durationOf(form: PolicyForm, field: Duration): number | undefined {
  const { minimum, maximum } = signInLimits[field]
  return integerOf(form[field], maximum, minimum)
}

/** Returns the fields of the form that differ from the policy, or undefined if a field is not valid. */
export function changesOf(form: PolicyForm, policy: SignInPolicy): Partial<SignInPolicy> | undefined {
  const changes: Partial<SignInPolicy> = {}
  for (const field of durations) {
    const value = durationOf(form, field)
    if (value === undefined) return undefined
    if (value !== policy[field]) changes[field] = value
  }
  if (form.secondFactor !== policy.secondFactor) changes.secondFactor = form.secondFactor
  const isSame =
    form.stepUp.length === policy.stepUp.length && form.stepUp.every((each) => policy.stepUp.includes(each))
  if (!isSame) changes.stepUp = form.stepUp
  return changes
}
