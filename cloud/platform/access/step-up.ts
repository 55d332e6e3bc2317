import { Problem } from '@millwright/api/problem.ts'
import type { StepUpAction } from '@millwright/api/sign-in-limits.ts'
import type { Handle } from '../database/database.ts'
import type { Caller } from './caller.ts'
import { getSignInPolicy } from './sign-in-policy-store.ts'

/**
 * Throws `step_up_required` unless the person signed in or confirmed their identity in the last minutes (RFC 9470).
 * Service accounts and gateways are exempt, because they have no second factor and prove a secret for each token.
 */
export function requireRecentSignIn({ principal, token }: Pick<Caller, 'principal' | 'token'>, minutes: number): void {
  if (principal.kind !== 'user' && principal.kind !== 'external') return
  const maxAgeSeconds = minutes * 60
  // A token without the time of the sign-in counts as old.
  const authenticatedAt = token?.authenticatedAt ?? 0
  if (Date.now() - authenticatedAt <= maxAgeSeconds * 1000) return
  const description =
    authenticatedAt === 0
      ? 'The time of your last sign-in is not known'
      : `Your last sign-in is more than ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} ago`
  throw stepUpRequired(description, maxAgeSeconds)
}

/**
 * Applies the sign-in policy to an operation that is dangerous only with some bodies, and is therefore not marked in its
 * contract. The front applies the policy to marked operations.
 */
export async function requireStepUp(handle: Handle, caller: Caller, action: StepUpAction): Promise<void> {
  const { stepUp, stepUpMinutes } = await getSignInPolicy(handle)
  if (stepUp.includes(action)) requireRecentSignIn(caller, stepUpMinutes)
}

/** Creates the problem that asks the person to prove their identity again. */
export function stepUpRequired(description: string, maxAgeSeconds: number): Problem {
  const advice = 'Confirm your identity with POST /iam/v1/step-up, get a new access token and repeat the request'
  return new Problem('step_up_required', `${description}. ${advice}`, {
    headers: {
      'www-authenticate': `Bearer error="insufficient_user_authentication", error_description="${description}", max_age="${maxAgeSeconds}"`,
    },
  })
}
