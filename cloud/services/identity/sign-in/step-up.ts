import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'

type Operations = 'startStepUp' | 'stepUp'

const unavailable = (): never => {
  throw new Problem('unavailable', 'This operation is not available yet')
}

export function stepUpHandlers(_shared: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  return {
    startStepUp: unavailable,
    stepUp: unavailable,
  }
}
