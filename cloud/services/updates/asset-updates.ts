import { Problem } from '@millwright/api/problem.ts'
import type { updates } from '@millwright/api/updates.ts'
import type { Context, Handlers } from '../../platform/service.ts'

export function assetUpdateHandlers(
  _context: Context,
): Pick<Handlers<typeof updates>, 'readAssetUpdates' | 'readImpact'> {
  const missing = async (): Promise<never> => {
    throw new Problem('unavailable', 'Not available yet')
  }
  return {
    readAssetUpdates: missing,
    readImpact: missing,
  }
}
