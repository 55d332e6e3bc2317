import { Problem } from '@millwright/api/problem.ts'
import type { updates } from '@millwright/api/updates.ts'
import type { Context, Handlers } from '../../platform/service.ts'

export function windowHandlers(
  _context: Context,
): Pick<Handlers<typeof updates>, 'listWindows' | 'readWindow' | 'putWindow' | 'deleteWindow'> {
  const missing = async (): Promise<never> => {
    throw new Problem('unavailable', 'Not available yet')
  }
  return {
    listWindows: missing,
    readWindow: missing,
    putWindow: missing,
    deleteWindow: missing,
  }
}
