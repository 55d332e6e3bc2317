import { Problem } from '@millwright/api/problem.ts'
import type { remoteAccess } from '@millwright/api/remote-access.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { missingSession } from './session-access.ts'
import { findSession } from './session-store.ts'
import type { SessionStreams } from './session-streams.ts'

/** Operations that other processes and services of the platform call, for the gateway of a session. */
export function gatewayHandlers(
  { database }: Context,
  streams: SessionStreams,
): Pick<Handlers<typeof remoteAccess>, 'resolveCredential' | 'checkTarget'> {
  return {
    async resolveCredential({ params: { gatewayId, id } }, caller) {
      const row = await database.read(caller, (handle) => findSession(handle, id))
      if (row === undefined || row.gatewayId !== gatewayId || row.service !== 'ssh') throw missingSession(id)
      if (row.state !== 'open' || row.address === null)
        throw new Problem('conflict', `The session has the state ${row.state}. Only an open session has credentials`)
      const { credentialInstanceId: instanceId, assetId, jobId, address, isOwnAddress } = row
      return { data: instanceId === null ? null : { instanceId, assetId, jobId, address, isOwnAddress } }
    },

    async checkTarget({ params: { gatewayId }, body: { data: target } }, caller) {
      await streams.check({ ...caller, byPeer: true }, gatewayId, target)
      return answer(204)
    },
  }
}
