import { Problem } from '@millwright/api/problem.ts'
import type { updates } from '@millwright/api/updates.ts'
import type { Context, Handlers } from '../../platform/service.ts'

export function contentHandlers(
  _context: Context,
): Pick<Handlers<typeof updates>, 'readUploadOffset' | 'putContent' | 'readContent' | 'readJobContent'> {
  const missing = async (): Promise<never> => {
    throw new Problem('unavailable', 'Not available yet')
  }
  return {
    readUploadOffset: missing,
    putContent: missing,
    readContent: missing,
    readJobContent: missing,
  }
}
