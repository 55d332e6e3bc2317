import { Problem } from '@millwright/api/problem.ts'
import type { updates } from '@millwright/api/updates.ts'
import type { Context, Handlers } from '../../platform/service.ts'

export function trustAnchorHandlers(
  _context: Context,
): Pick<
  Handlers<typeof updates>,
  'listTrustAnchors' | 'createTrustAnchor' | 'deleteTrustAnchor' | 'readSettings' | 'putSettings'
> {
  const missing = async (): Promise<never> => {
    throw new Problem('unavailable', 'Not available yet')
  }
  return {
    listTrustAnchors: missing,
    createTrustAnchor: missing,
    deleteTrustAnchor: missing,
    readSettings: missing,
    putSettings: missing,
  }
}
