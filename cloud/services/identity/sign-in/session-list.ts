import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'

type Operations =
  | 'listSessions'
  | 'confirmSession'
  | 'deleteSession'
  | 'deleteSessions'
  | 'listUserSessions'
  | 'deleteUserSessions'

const unavailable = (): never => {
  throw new Problem('unavailable', 'This operation is not available yet')
}

export function sessionHandlers(_shared: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  return {
    listSessions: unavailable,
    confirmSession: unavailable,
    deleteSession: unavailable,
    deleteSessions: unavailable,
    listUserSessions: unavailable,
    deleteUserSessions: unavailable,
  }
}
