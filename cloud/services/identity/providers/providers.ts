import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'

type Operations =
  | 'listIdentityProviders'
  | 'createIdentityProvider'
  | 'readIdentityProvider'
  | 'updateIdentityProvider'
  | 'deleteIdentityProvider'
  | 'checkIdentityProvider'

const unavailable = (): never => {
  throw new Problem('unavailable', 'This operation is not available yet')
}

export function providerHandlers(_shared: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  return {
    listIdentityProviders: unavailable,
    createIdentityProvider: unavailable,
    readIdentityProvider: unavailable,
    updateIdentityProvider: unavailable,
    deleteIdentityProvider: unavailable,
    checkIdentityProvider: unavailable,
  }
}
