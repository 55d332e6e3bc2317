import { closed } from '@millwright/api/envelope.ts'
import { type Static, Type } from 'typebox'

const AllowedNetwork = closed({
  network: Type.String({ minLength: 1, maxLength: 64 }),
  ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), { minItems: 1, maxItems: 256 }),
})
export type AllowedNetwork = Static<typeof AllowedNetwork>

/** The settings of remote access on one gateway. A target must be allowed by the platform and by these settings. */
export const RemoteAccessSettings = closed({
  isEnabled: Type.Boolean(),
  /** The allowed networks with their ports. If it is absent, the devices that the gateway found are allowed. */
  allow: Type.Optional(Type.Array(AllowedNetwork, { maxItems: 1_000 })),
  /** Whether the machine of the gateway (127.0.0.0/8 and ::1) can be a target. */
  loopback: Type.Boolean(),
})
export type RemoteAccessSettings = Static<typeof RemoteAccessSettings>

export const defaultRemoteAccess: RemoteAccessSettings = { isEnabled: true, loopback: false }
