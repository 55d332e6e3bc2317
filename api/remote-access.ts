import { type Static, Type } from 'typebox'
import { contract, empty, media } from './contract.ts'
import { OfferedCredential } from './credentials-shapes.ts'
import { closed, data, linePattern, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { oneOf } from './inventory/shapes.ts'

export const remoteAccessLimits = {
  /** The maximum number of sessions that have not ended, for a tenant and for a gateway. */
  sessionsPerTenant: 1_000,
  sessionsPerGateway: 100,
  /** The maximum number of open streams of one session. A browser opens several connections to a web page. */
  streamsPerSession: 64,
  /** The longest duration of a session, including all extensions. */
  maxMinutes: 24 * 60,
  maxIdleMinutes: 8 * 60,
  /** The time after which a request for approval without an answer ends. */
  approvalMinutes: 60,
  /** The time for which a ticket is valid. */
  ticketSeconds: 60,
  ports: 64,
  reason: 500,
  path: 4_096,
  /** The maximum size of the recording of one session. The session ends when its recording reaches this size. */
  recordingBytes: 256 * 1024 * 1024,
  /** The maximum size of all recordings of a tenant. Sessions that must be recorded do not start above this size. */
  storedRecordingBytes: 10 * 1024 * 1024 * 1024,
  /** The time after which the recording of an ended session is deleted. */
  recordingDays: 90,
  /** The time after which an ended session is deleted. */
  sessionDays: 400,
} as const

export const remoteServices = ['ssh', 'http', 'https', 'tcp'] as const
export type RemoteService = (typeof remoteServices)[number]

/** The default port of each service. A session for `tcp` must name its port. */
export const servicePorts: Readonly<Partial<Record<RemoteService, number>>> = { ssh: 22, http: 80, https: 443 }

export const sessionStates = ['pending-approval', 'connecting', 'open', 'ended'] as const
export type SessionState = (typeof sessionStates)[number]

/** The reasons why a session ends. */
export const sessionEndings = [
  'ended-by-user',
  'ended-by-reviewer',
  'denied',
  'approval-expired',
  'expired',
  'idle',
  'permission-lost',
  'gateway-offline',
  'target-not-allowed',
  'host-key-changed',
  'recording-full',
  'switched-off',
  'asset-deleted',
] as const
export type SessionEnding = (typeof sessionEndings)[number]

export const recordingModes = ['none', 'terminal', 'all'] as const
export type RecordingMode = (typeof recordingModes)[number]

const Port = Type.Integer({ minimum: 1, maximum: 65_535 })
const Person = closed({ id: Uuid, name: Type.String() })
const Reason = Type.String({ maxLength: remoteAccessLimits.reason, pattern: linePattern })

export const RemoteSession = closed({
  id: Uuid,
  state: oneOf(sessionStates),
  assetId: Uuid,
  assetName: Type.String(),
  accessGroup: Uuid,
  gatewayId: Uuid,
  service: oneOf(remoteServices),
  address: Type.Optional(Type.String({ description: 'The address of the device. Absent until the session is open' })),
  port: Port,
  credentialInstanceId: Type.Optional(Uuid),
  reason: Type.Optional(Type.String()),
  requestedBy: Person,
  decidedBy: Type.Optional(
    Type.Unsafe<Static<typeof Person>>({ ...Person, description: 'The person who approved or denied the session' }),
  ),
  url: Type.Optional(
    Type.String({ description: 'The address of the web page of the device. Only for `http` and `https`' }),
  ),
  tunnelUrl: Type.Optional(
    Type.String({
      description: 'A WebSocket with the subprotocol `millwright.tunnel.v1`. Each connection is one stream',
    }),
  ),
  recording: oneOf(recordingModes),
  recordingBytes: Type.Integer({ minimum: 0 }),
  recordingDigest: Type.Optional(
    Type.String({ description: 'SHA-256 of the recording, in hexadecimal. It is also in the audit trail' }),
  ),
  sentBytes: Type.Integer({ minimum: 0, description: 'Bytes from the user to the device' }),
  receivedBytes: Type.Integer({ minimum: 0, description: 'Bytes from the device to the user' }),
  streams: Type.Integer({ minimum: 0, description: 'Streams that are open now' }),
  ending: Type.Optional(oneOf(sessionEndings)),
  endingDetail: Type.Optional(Type.String()),
  endedBy: Type.Optional(Person),
  createdTimestamp: Timestamp,
  openedTimestamp: Type.Optional(Timestamp),
  expiresTimestamp: Timestamp,
  endedTimestamp: Type.Optional(Timestamp),
  jobId: Uuid,
})
export type RemoteSession = Static<typeof RemoteSession>

export const SessionRequest = closed({
  assetId: Uuid,
  service: oneOf(remoteServices),
  port: Type.Optional(Port),
  credentialInstanceId: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: 'The credential with which the gateway signs in. Only for `ssh`' }),
  ),
  reason: Type.Optional(Reason),
  durationMinutes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: remoteAccessLimits.maxMinutes,
      description:
        'The default is `maxMinutes` of the policy. A longer duration than `maxMinutes` is refused with `conflict`',
    }),
  ),
})
export type SessionRequest = Static<typeof SessionRequest>

export const RemotePolicy = closed({
  approval: oneOf(['none', 'required'] as const),
  recording: Type.Unsafe<RecordingMode>({
    ...oneOf(recordingModes),
    description: '`terminal` records terminals, `all` also logs the requests of web sessions',
  }),
  maxMinutes: Type.Integer({ minimum: 1, maximum: remoteAccessLimits.maxMinutes }),
  idleMinutes: Type.Integer({ minimum: 1, maximum: remoteAccessLimits.maxIdleMinutes }),
  ports: Type.Array(Port, { maxItems: remoteAccessLimits.ports, uniqueItems: true }),
})
export type RemotePolicy = Static<typeof RemotePolicy>

/** The policy of an access group without its own policy. */
export const defaultRemotePolicy: RemotePolicy = {
  approval: 'none',
  recording: 'none',
  maxMinutes: 120,
  idleMinutes: 15,
  ports: [22, 80, 443],
}

/**
 * Returns the number of minutes by which a session can be extended under the policy of its access group: 0 if it cannot be
 * extended.
 */
export function extensionMinutes(
  session: Pick<RemoteSession, 'state' | 'decidedBy' | 'createdTimestamp' | 'expiresTimestamp'>,
  { approval, maxMinutes }: Pick<RemotePolicy, 'approval' | 'maxMinutes'>,
): number {
  const { state, decidedBy, createdTimestamp, expiresTimestamp } = session
  if (state !== 'open' || decidedBy !== undefined || approval === 'required') return 0
  // The duration of a session without approval starts when it is created.
  const minutes = Math.round((Date.parse(expiresTimestamp) - Date.parse(createdTimestamp)) / 60_000)
  return Math.max(0, maxMinutes - minutes)
}

/** What a user can open on an asset. The console shows it before a session is requested. */
export const RemoteTarget = closed({
  isEnabled: Type.Boolean({ description: 'Whether remote access is switched on for the tenant and the gateway' }),
  gatewayId: Type.Optional(Uuid),
  isGatewayConnected: Type.Boolean(),
  addresses: Type.Array(Type.String()),
  policy: RemotePolicy,
  credentials: Type.Array(OfferedCredential, {
    description: 'The credentials with which the gateway can sign in over ssh, without their values',
  }),
  isWebAvailable: Type.Boolean({ description: 'Whether the platform has a wildcard host for web pages' }),
  problem: Type.Optional(
    closed({ code: Type.String(), detail: Type.String() }, { description: 'Why no session can be opened' }),
  ),
})
export type RemoteTarget = Static<typeof RemoteTarget>

export const RemoteGateway = closed({
  gatewayId: Uuid,
  isConnected: Type.Boolean({ description: 'Whether the gateway has an open tunnel' }),
  isEnabled: Type.Boolean(),
  sessions: Type.Integer({ minimum: 0 }),
})
export type RemoteGateway = Static<typeof RemoteGateway>

export const HostKey = closed({
  id: Uuid,
  assetId: Uuid,
  port: Port,
  algorithm: Type.String({ description: 'The algorithm of an SSH host key, or `x509` for a TLS certificate' }),
  fingerprint: Type.String({ description: 'SHA-256 of the key, as `SHA256:<base64>`' }),
  firstSeenTimestamp: Timestamp,
  lastSeenTimestamp: Timestamp,
})
export type HostKey = Static<typeof HostKey>

/** The kinds of streams of a session. Each WebSocket of a client is one stream. */
export const streamKinds = ['tcp', 'terminal', 'file-list', 'file-download', 'file-upload'] as const
export type StreamKind = (typeof streamKinds)[number]

/** The subprotocols of the two WebSockets: of a client, and of a gateway. */
export const tunnelProtocol = 'millwright.tunnel.v1'
export const gatewayTunnelProtocol = 'millwright.gateway-tunnel.v1'

const params = closed({ id: Uuid })
const group = closed({ accessGroup: Type.String({ minLength: 1, maxLength: 128 }) })
const gateway = closed({ gatewayId: Uuid })
/** Only switching on requires a confirmation, so that a user can stop remote access without delay. */
const switchedOn = 'The sign-in policy can require a recent sign-in of users to switch it on (`remote-access`).'
const Switch = closed({ isEnabled: Type.Boolean() })
const sessionErrors = ['not_found', 'conflict', 'forbidden'] as const

export const remoteAccess = contract({
  name: 'remote-access',
  title: 'Remote access',
  description:
    'Connections to assets through their gateway: ssh, web pages and any allowed TCP port. The gateway opens the ' +
    'connection from inside the network. The platform never connects to the shop floor.',
  version: '1.0.0',
  prefix: '/remote-access/v1',
  operations: {
    createSession: {
      method: 'POST',
      path: '/sessions',
      summary: 'Open a session to an asset, or request its approval',
      description:
        'Requires `remote_access_connect` in the access group of the asset. The policy of the access group decides ' +
        'about approval, recording, ports and durations. The gateway decides with its own list of allowed targets. ' +
        'A chosen credential needs no further permission, because its values are not shown: it must be assigned to the asset, ' +
        'or its address ranges must contain the address of the device.',
      access: 'remote_access_connect',
      stepUp: 'remote-access',
      waits: true,
      body: data(SessionRequest),
      answers: { 201: data(RemoteSession) },
      errors: [
        'asset_not_found',
        'forbidden',
        'gateway_offline',
        'target_not_allowed',
        'no_address',
        'too_many_sessions',
        'device_unreachable',
        'invalid_reference',
        'remote_access_off',
        'web_access_off',
        'conflict',
      ],
    },
    listSessions: {
      method: 'GET',
      path: '/sessions',
      summary: 'List sessions, newest first',
      description:
        'Users see their own sessions, and with `remote_access_approve` the sessions of the access group. Only sessions of ' +
        'assets that the caller can read are listed.',
      access: 'signed-in',
      query: closed({
        ...pageQuery,
        state: Type.Optional(oneOf(sessionStates)),
        assetId: Type.Optional(Uuid),
        gatewayId: Type.Optional(Uuid),
        awaitsMe: Type.Optional(Type.Boolean({ description: 'Only sessions that the caller can approve or deny now' })),
      }),
      answers: { 200: page(RemoteSession) },
    },
    readSession: {
      method: 'GET',
      path: '/sessions/{id}',
      summary: 'Read a session',
      access: 'signed-in',
      params,
      answers: { 200: data(RemoteSession) },
      errors: ['not_found'],
    },
    endSession: {
      method: 'DELETE',
      path: '/sessions/{id}',
      summary: 'End a session immediately',
      description: 'The user of a session ends it, or a user with `remote_access_approve` in its access group.',
      access: 'signed-in',
      params,
      answers: { 204: empty },
      errors: sessionErrors,
    },
    approveSession: {
      method: 'POST',
      path: '/sessions/{id}/approve',
      summary: 'Approve a session of another user',
      description: 'The requester, service accounts and gateways cannot approve a session.',
      access: 'remote_access_approve',
      stepUp: 'remote-access',
      params,
      answers: { 200: data(RemoteSession) },
      errors: sessionErrors,
    },
    denySession: {
      method: 'POST',
      path: '/sessions/{id}/deny',
      summary: 'Deny a session of another user',
      access: 'remote_access_approve',
      params,
      body: Type.Optional(data(closed({ reason: Type.Optional(Reason) }))),
      answers: { 200: data(RemoteSession) },
      errors: sessionErrors,
    },
    extendSession: {
      method: 'POST',
      path: '/sessions/{id}/extend',
      summary: 'Extend a session',
      description:
        'The total duration cannot exceed `maxMinutes` of the policy. A session that needs approval cannot be extended.',
      access: 'remote_access_connect',
      stepUp: 'remote-access',
      params,
      body: data(closed({ minutes: Type.Integer({ minimum: 1, maximum: remoteAccessLimits.maxMinutes }) })),
      answers: { 200: data(RemoteSession) },
      errors: sessionErrors,
    },
    createTicket: {
      method: 'POST',
      path: '/sessions/{id}/tickets',
      summary: 'Create a ticket with which a browser opens one stream or enters a web session',
      description: `A ticket can be used once, within ${remoteAccessLimits.ticketSeconds} seconds. Only the user of the session creates tickets.`,
      access: 'remote_access_connect',
      params,
      answers: { 201: data(closed({ ticket: Type.String(), expiresTimestamp: Timestamp })) },
      answersSecret: true,
      errors: sessionErrors,
    },
    openStream: {
      method: 'GET',
      path: '/sessions/{id}/stream',
      summary: 'Open a stream of a session as a WebSocket',
      description:
        'Binary messages are bytes, text messages are JSON messages about the stream. A browser sends a ticket in the ' +
        'query instead of the header `Authorization`.',
      access: 'remote_access_connect',
      socket: { protocol: tunnelProtocol, acceptsTicket: true },
      params,
      query: closed({
        kind: Type.Optional(oneOf(streamKinds)),
        ticket: Type.Optional(Type.String({ maxLength: 128 })),
        columns: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
        rows: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
        path: Type.Optional(Type.String({ minLength: 1, maxLength: remoteAccessLimits.path })),
      }),
      answers: { 101: empty },
      errors: [...sessionErrors, 'gateway_offline', 'too_many_requests'],
    },
    readRecording: {
      method: 'GET',
      path: '/sessions/{id}/recording',
      summary: 'Download the recording of an ended session',
      description:
        'Requires `remote_access_approve` in the access group of the asset. A terminal is in asciicast format, version 2. A web session is a log ' +
        'with one JSON object per line.',
      access: 'remote_access_approve',
      stepUp: 'remote-access',
      sensitive: true,
      waits: true,
      params,
      answers: { 200: media('application/x-asciicast', 'application/x-ndjson') },
      errors: [...sessionErrors, 'recording_damaged'],
    },
    readTarget: {
      method: 'GET',
      path: '/assets/{id}/target',
      summary: 'Read whether and how a session to an asset can be opened',
      access: 'remote_access_connect',
      params,
      answers: { 200: data(RemoteTarget) },
      errors: ['not_found'],
    },
    listPolicies: {
      method: 'GET',
      path: '/policies',
      summary: 'List the access groups that have their own policy',
      access: 'signed-in',
      query: closed(pageQuery),
      answers: { 200: page(closed({ accessGroup: Uuid, accessGroupName: Type.String(), policy: RemotePolicy })) },
    },
    readPolicy: {
      method: 'GET',
      path: '/policies/{accessGroup}',
      summary: 'Read the policy of an access group',
      access: 'signed-in',
      params: group,
      answers: { 200: data(RemotePolicy) },
      errors: ['not_found'],
    },
    putPolicy: {
      method: 'PUT',
      path: '/policies/{accessGroup}',
      summary: 'Set the policy of an access group',
      description:
        'Running sessions keep their recording and approval. Their durations are shortened to the new limits.',
      access: 'glb_access_manage',
      stepUp: 'remote-access',
      params: group,
      body: data(RemotePolicy),
      answers: { 200: data(RemotePolicy) },
      errors: ['not_found'],
    },
    readSwitch: {
      method: 'GET',
      path: '/switch',
      summary: 'Read whether remote access is switched on for the tenant',
      access: 'signed-in',
      answers: { 200: data(Switch) },
    },
    putSwitch: {
      method: 'PUT',
      path: '/switch',
      summary: 'Switch remote access on or off for the tenant',
      description: `When it is switched off, all sessions end immediately. ${switchedOn}`,
      access: 'glb_access_manage',
      body: data(Switch),
      answers: { 200: data(Switch) },
      errors: ['step_up_required'],
    },
    listGateways: {
      method: 'GET',
      path: '/gateways',
      summary: 'List the gateways with their tunnel and their switch',
      access: 'glb_jobs_read',
      query: closed(pageQuery),
      answers: { 200: page(RemoteGateway) },
    },
    putGatewaySwitch: {
      method: 'PUT',
      path: '/gateways/{gatewayId}/switch',
      summary: 'Switch remote access through a gateway on or off',
      description: `When it is switched off, all sessions of the gateway end immediately. ${switchedOn}`,
      access: 'glb_gateway_manage',
      params: gateway,
      body: data(Switch),
      answers: { 200: data(RemoteGateway) },
      errors: ['not_found', 'step_up_required'],
    },
    listHostKeys: {
      method: 'GET',
      path: '/host-keys',
      summary: 'List the host keys of an asset',
      access: 'remote_access_connect',
      query: closed({ ...pageQuery, assetId: Uuid }),
      answers: { 200: page(HostKey) },
      errors: ['not_found'],
    },
    deleteHostKey: {
      method: 'DELETE',
      path: '/host-keys/{id}',
      summary: 'Delete a host key; the next session stores the current key of the device',
      access: 'remote_access_approve',
      stepUp: 'remote-access',
      params,
      answers: { 204: empty },
      errors: ['not_found', 'forbidden'],
    },
    endGatewaySessions: {
      method: 'POST',
      path: '/gateways/{gatewayId}/end-sessions',
      summary: 'End the sessions of a revoked or deleted gateway, and close its tunnel',
      access: 'peer',
      params: gateway,
      answers: { 200: data(closed({ ended: Type.Integer({ minimum: 0 }) })) },
    },
    endUserSessions: {
      method: 'POST',
      path: '/users/{principalId}/end-sessions',
      summary: 'End the sessions of a user whose sign-in sessions were ended',
      access: 'peer',
      params: closed({ principalId: Uuid }),
      answers: { 200: data(closed({ ended: Type.Integer({ minimum: 0 }) })) },
    },
    resolveCredential: {
      method: 'GET',
      path: '/gateways/{gatewayId}/sessions/{id}/credential',
      summary: 'Read which credential the user of an open ssh session of a gateway chose',
      access: 'peer',
      params: closed({ gatewayId: Uuid, id: Uuid }),
      answers: {
        200: data(
          Type.Union([
            Type.Null(),
            closed({
              instanceId: Uuid,
              assetId: Uuid,
              jobId: Uuid,
              address: Type.String(),
              isOwnAddress: Type.Boolean(),
            }),
          ]),
        ),
      },
      errors: ['not_found', 'conflict'],
    },
    checkTarget: {
      method: 'POST',
      path: '/gateways/{gatewayId}/check',
      summary: 'Ask a gateway whether its own rules allow a target; only for the process that holds the tunnel',
      access: 'peer',
      readOnly: true,
      waits: true,
      params: gateway,
      body: data(closed({ sessionId: Uuid, assetId: Uuid, address: Type.String({ maxLength: 64 }), port: Port })),
      answers: { 204: empty },
      errors: ['gateway_offline', 'target_not_allowed', 'device_unreachable', 'host_key_changed'],
    },
    openTunnel: {
      method: 'GET',
      path: '/gateway-tunnel',
      summary: 'Open the tunnel of a gateway as a WebSocket',
      access: 'glb_gateway_work',
      socket: { protocol: gatewayTunnelProtocol },
      answers: { 101: empty },
      errors: ['forbidden'],
    },
  },
})
