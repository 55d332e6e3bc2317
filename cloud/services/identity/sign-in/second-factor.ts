import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'
import { completeSignIn, type ProvenPerson } from './complete-sign-in.ts'

export function secondFactorHandlers(_shared: IdentityContext): Pick<Handlers<typeof identity>, 'secondFactor'> {
  return {
    async secondFactor() {
      throw new Problem('unavailable', 'The second factor is not available yet')
    },
  }
}

/** Completes the sign-in of a person with the correct password, or shows the page for the second factor. */
export function continueAfterPassword(shared: IdentityContext, person: ProvenPerson) {
  return completeSignIn(shared, person)
}
