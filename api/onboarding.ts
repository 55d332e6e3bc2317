import { type Static, Type } from 'typebox'
import { contract, empty } from './contract.ts'
import { closed, data, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { oneOf } from './inventory/shapes.ts'

export const onboardingLimits = {
  configMinutes: 30,
  offlineAfterSeconds: 90,
  deletedAssets: 1_000,
  /** The maximum number of characters of an authority and of a fingerprint in a gateway-config.json. */
  authority: 65_536,
  fingerprint: 128,
  /** The maximum number of addresses that a gateway reports. */
  hostAddresses: 16,
} as const

/** The states of a gateway. `online` and `offline` are possible only after the enrolment. */
export const gatewayStates = ['created', 'config_expired', 'online', 'offline', 'revoked'] as const

/** The computer of a gateway, as the gateway reports it. */
export const GatewayHost = closed({
  hostName: Type.String({ maxLength: 255 }),
  operatingSystem: Type.String({ maxLength: 128, description: 'Name, release and processor architecture' }),
  addresses: Type.Array(Type.String({ maxLength: 64 }), {
    maxItems: onboardingLimits.hostAddresses,
    description: 'The IP addresses of the network interfaces, without loopback and link-local addresses',
  }),
})
export type GatewayHost = Static<typeof GatewayHost>

export const OnboardedGateway = closed({
  id: Type.Unsafe<string>({ ...Uuid, description: 'The id of the gateway and of its asset' }),
  name: Type.String(),
  access_group: Uuid,
  state: oneOf(gatewayStates),
  version: Type.Optional(Type.String()),
  host: Type.Optional(GatewayHost),
  configExpiresTimestamp: Type.Optional(Timestamp),
  enrolledTimestamp: Type.Optional(Timestamp),
  lastSeenTimestamp: Type.Optional(Timestamp),
  keyThumbprint: Type.Optional(Type.String({ description: 'RFC 7638 thumbprint of the key that the gateway created' })),
  createdTimestamp: Timestamp,
})
export type OnboardedGateway = Static<typeof OnboardedGateway>

/** The configuration file of a new gateway. It can be used once and expires after 30 minutes. */
export const GatewayConfig = closed({
  schema: Type.Literal('millwright.gateway-config.v1'),
  baseUrl: Type.String(),
  gatewayId: Uuid,
  name: Type.String(),
  enrolmentToken: Type.String(),
  expiresTimestamp: Timestamp,
  tls: Type.Optional(
    closed({
      authority: Type.Optional(
        Type.String({
          maxLength: onboardingLimits.authority,
          description: 'The authority of the platform: PEM text, or the path of a PEM file relative to this file.',
        }),
      ),
      fingerprint: Type.Optional(
        Type.String({
          maxLength: onboardingLimits.fingerprint,
          description: 'The SHA-256 of the certificate of the platform in hexadecimal digits.',
        }),
      ),
    }),
  ),
})
export type GatewayConfig = Static<typeof GatewayConfig>

/** An elliptic-curve public key (RFC 7517). The private key never leaves the gateway. */
export const GatewayKey = closed({
  kty: Type.Literal('EC'),
  crv: Type.Literal('P-256'),
  x: Type.String({ maxLength: 64 }),
  y: Type.String({ maxLength: 64 }),
})
export type GatewayKey = Static<typeof GatewayKey>

/** The archive of the gateway that the platform serves, and the command that installs it. */
export const GatewayPackage = closed({
  version: Type.String(),
  url: Type.String({ description: 'The address of the archive. No sign-in is necessary' }),
  bytes: Type.Integer({ minimum: 1 }),
  sha256: Type.String({ description: 'The SHA-256 of the archive in hexadecimal digits' }),
  command: Type.String({
    description:
      'The command for the machine of the gateway, in the folder that contains gateway-config.json. It checks the SHA-256 of the files before it runs them, and contains no secret',
  }),
})
export type GatewayPackage = Static<typeof GatewayPackage>

const id = closed({ id: Uuid })

export const onboarding = contract({
  name: 'onboarding',
  title: 'Gateway onboarding',
  description: 'Onboarding, state and revocation of gateways.',
  version: '1.0.0',
  prefix: '/onboarding/v1',
  operations: {
    createGateway: {
      method: 'POST',
      path: '/gateways',
      summary: 'Create a gateway and its asset with the same id',
      description:
        'Also requires `inventory_write_asset_data` in the access group, because the gateway writes assets there.',
      access: 'glb_gateway_manage',
      waits: true,
      body: data(closed({ name: Name, access_group: Type.Optional(Type.String({ maxLength: 128 })) })),
      answers: { 201: data(OnboardedGateway) },
      errors: ['access_group_not_found', 'forbidden'],
    },
    listGateways: {
      method: 'GET',
      path: '/gateways',
      summary: 'List gateways by name',
      access: 'glb_jobs_read',
      query: closed(pageQuery),
      answers: { 200: page(OnboardedGateway) },
    },
    getGateway: {
      method: 'GET',
      path: '/gateways/{id}',
      summary: 'Read a gateway and its state',
      access: 'glb_jobs_read',
      params: id,
      answers: { 200: data(OnboardedGateway) },
      errors: ['not_found'],
    },
    createGatewayConfig: {
      method: 'POST',
      path: '/gateways/{id}/config',
      summary: 'Create a new gateway-config.json; invalidates the previous one',
      description: `Valid for ${onboardingLimits.configMinutes} minutes and for one enrolment. Shown once. Also requires \`inventory_write_asset_data\` in the access group of the gateway.`,
      access: 'glb_gateway_manage',
      stepUp: 'access',
      params: id,
      answers: { 201: GatewayConfig },
      answersSecret: true,
      errors: ['not_found', 'gateway_revoked', 'forbidden'],
    },
    getGatewayPackage: {
      method: 'GET',
      path: '/package',
      summary: 'Read the gateway package of this platform and the command that installs it',
      access: 'glb_gateway_manage',
      answers: { 200: data(GatewayPackage) },
      errors: ['package_not_built'],
    },
    revokeGateway: {
      method: 'POST',
      path: '/gateways/{id}/revoke',
      summary: 'Revoke a gateway immediately and permanently',
      access: 'glb_gateway_manage',
      params: id,
      answers: { 200: data(OnboardedGateway) },
      errors: ['not_found'],
    },
    deleteGateway: {
      method: 'DELETE',
      path: '/gateways/{id}',
      summary: 'Revoke a gateway and delete it with its asset',
      access: 'glb_gateway_manage',
      params: id,
      answers: { 204: empty },
      errors: ['not_found'],
    },
    enrol: {
      method: 'POST',
      path: '/enrol',
      summary: 'Enrol a new gateway with its public key',
      description:
        '`proof` is a JWS (ES256) with that key over `{ gatewayId, enrolmentToken, iat }`. The file alone is ' +
        'not sufficient for an enrolment. The same key with the same file gets the same response again.',
      access: 'public',
      body: data(
        closed({
          gatewayId: Uuid,
          enrolmentToken: Type.String({ maxLength: 256 }),
          publicKey: GatewayKey,
          proof: Type.String({ maxLength: 4_096 }),
          version: Type.String({ maxLength: 64 }),
        }),
      ),
      answers: { 200: data(closed({ gatewayId: Uuid, tenantName: Type.String(), clientId: Type.String() })) },
      errors: ['enrolment_refused'],
    },
    recordSeen: {
      method: 'POST',
      path: '/gateways/{id}/seen',
      summary: 'Record that a gateway contacted the platform',
      access: 'peer',
      params: id,
      body: data(closed({ version: Type.Optional(Type.String({ maxLength: 64 })), host: Type.Optional(GatewayHost) })),
      answers: { 204: empty },
      errors: ['not_found'],
    },
    revokeDeletedGateways: {
      method: 'POST',
      path: '/gateways/deleted-assets',
      summary: 'Revoke the gateways among deleted assets',
      access: 'peer',
      body: data(closed({ assets: Type.Array(Uuid, { minItems: 1, maxItems: onboardingLimits.deletedAssets }) })),
      answers: { 200: data(closed({ revoked: Type.Integer({ minimum: 0 }) })) },
    },
    resolveGateway: {
      method: 'GET',
      path: '/gateways/{id}/standing',
      summary: 'Read whether a gateway can get jobs, the access group of its findings, and its key',
      access: 'peer',
      params: id,
      answers: {
        200: data(
          closed({
            id: Uuid,
            name: Type.String(),
            access_group: Uuid,
            state: OnboardedGateway.properties.state,
            version: OnboardedGateway.properties.version,
            keyThumbprint: OnboardedGateway.properties.keyThumbprint,
          }),
        ),
      },
      errors: ['not_found'],
    },
  },
})
