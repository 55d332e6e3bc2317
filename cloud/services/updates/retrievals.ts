import { Problem } from '@millwright/api/problem.ts'
import type { updates } from '@millwright/api/updates.ts'
import type { Context, Handlers } from '../../platform/service.ts'

export function retrievalHandlers(
  _context: Context,
): Pick<Handlers<typeof updates>, 'createRetrieval' | 'listRetrievals' | 'readJobOffset' | 'putJobContent'> {
  const missing = async (): Promise<never> => {
    throw new Problem('unavailable', 'Not available yet')
  }
  return {
    createRetrieval: missing,
    listRetrievals: missing,
    readJobOffset: missing,
    putJobContent: missing,
  }
}
