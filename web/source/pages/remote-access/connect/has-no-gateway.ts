import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useRights } from '../../../app/session/app-context.tsx'
import { type Asset, textAt } from '../../assets/model/asset.ts'

/**
 * Returns true if no gateway has found a device at one of its addresses, so that a session to it is not possible. Returns
 * undefined until this is known, and false for other assets and for users without the permission for remote access.
 */
export function useHasNoGateway(asset: Asset): boolean | undefined {
  const query = useOperationQuery()
  const isDevice = textAt(asset, 'functional_object_type') === 'Device'
  const isEnabled = useRights().has('remote_access_connect') && isDevice
  const target = useQuery({
    ...query(['remote-access', 'readTarget'], { params: { id: asset.id } }, { live: ['remote-access', 'discovery'] }),
    enabled: isEnabled,
  })
  // The dialog of a session loads the target of every asset, also of those that need no gateway.
  if (!isEnabled) return false
  if (target.isPending) return undefined
  return target.data !== undefined && target.data.data.gatewayId === undefined
}
