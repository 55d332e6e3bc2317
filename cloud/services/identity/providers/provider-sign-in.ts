import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'

type Operations = 'providerSignIn' | 'providerCallback' | 'backchannelLogout'

const unavailable = (): never => {
  throw new Problem('unavailable', 'This operation is not available yet')
}

export function providerSignInHandlers(_shared: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  return {
    providerSignIn: unavailable,
    providerCallback: unavailable,
    backchannelLogout: unavailable,
  }
}
