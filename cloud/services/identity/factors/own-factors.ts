import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'

type Operations =
  | 'readAccountSecurity'
  | 'startTotp'
  | 'confirmTotp'
  | 'deleteTotp'
  | 'startPasskey'
  | 'addPasskey'
  | 'renamePasskey'
  | 'deletePasskey'
  | 'createRecoveryCodes'
  | 'resetSecondFactor'

const unavailable = (): never => {
  throw new Problem('unavailable', 'This operation is not available yet')
}

export function factorHandlers(_shared: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  return {
    readAccountSecurity: unavailable,
    startTotp: unavailable,
    confirmTotp: unavailable,
    deleteTotp: unavailable,
    startPasskey: unavailable,
    addPasskey: unavailable,
    renamePasskey: unavailable,
    deletePasskey: unavailable,
    createRecoveryCodes: unavailable,
    resetSecondFactor: unavailable,
  }
}
