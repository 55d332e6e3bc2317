import { Problem } from '@millwright/api/problem.ts'
import type { updates } from '@millwright/api/updates.ts'
import type { Context, Handlers } from '../../platform/service.ts'

export function driftHandlers(_context: Context): Pick<Handlers<typeof updates>, 'listDrift'> {
  const missing = async (): Promise<never> => {
    throw new Problem('unavailable', 'Not available yet')
  }
  return {
    listDrift: missing,
  }
}
