import type { RemoteSession } from '@millwright/api/remote-access.ts'
import type { Settings } from '../../platform/service.ts'
import type { SessionRow } from './session-store.ts'
import { WebHost } from './web/web-host.ts'

function tunnelUrlOf({ baseUrl }: Settings, sessionId: string): string {
  return `${baseUrl.replace(/^http/, 'ws').replace(/\/$/, '')}/remote-access/v1/sessions/${sessionId}/stream`
}

function isWeb({ service }: Pick<SessionRow, 'service'>): boolean {
  return service === 'http' || service === 'https'
}

/** Returns a session as clients see it. Only its user gets the addresses with which to use it. */
export function showSession(
  row: SessionRow,
  { settings, isOwn }: { settings: Settings; isOwn: boolean },
): RemoteSession {
  const isUsable = isOwn && row.state === 'open'
  const host = new WebHost(settings)
  const url = isUsable && isWeb(row) && host.isOn ? host.urlOf(row.id) : undefined
  const person = (id: string | null, name: string | null) => (id === null ? undefined : { id, name: name ?? '' })
  const decidedBy = person(row.decidedById, row.decidedByName)
  const endedBy = person(row.endedById, row.endedByName)
  return {
    id: row.id,
    state: row.state,
    assetId: row.assetId,
    assetName: row.assetName,
    accessGroup: row.accessGroupId,
    gatewayId: row.gatewayId,
    service: row.service,
    ...(row.address === null ? {} : { address: row.address }),
    port: row.port,
    ...(row.credentialInstanceId === null ? {} : { credentialInstanceId: row.credentialInstanceId }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    requestedBy: { id: row.principalId, name: row.principalName },
    ...(decidedBy === undefined ? {} : { decidedBy }),
    ...(url === undefined ? {} : { url }),
    ...(isUsable ? { tunnelUrl: tunnelUrlOf(settings, row.id) } : {}),
    recording: row.recording,
    recordingBytes: row.recordingBytes,
    ...(row.recordingDigest === null ? {} : { recordingDigest: row.recordingDigest }),
    sentBytes: row.sentBytes,
    receivedBytes: row.receivedBytes,
    streams: row.streams,
    ...(row.ending === null ? {} : { ending: row.ending }),
    ...(row.endingDetail === null ? {} : { endingDetail: row.endingDetail }),
    ...(endedBy === undefined ? {} : { endedBy }),
    createdTimestamp: row.createdAt,
    ...(row.openedAt === null ? {} : { openedTimestamp: row.openedAt }),
    expiresTimestamp: row.expiresAt,
    ...(row.endedAt === null ? {} : { endedTimestamp: row.endedAt }),
    jobId: row.jobId,
  }
}
