import { type Static, Type } from 'typebox'
import { contract, empty } from './contract.ts'
import { closed, data, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { oneOf } from './inventory-shapes.ts'

export const onboardingLimits = { configMinutes: 30, offlineAfterSeconds: 90, deletedAssets: 1_000 } as const

/** Where a gateway is on its way: `online` and `offline` only after it enrolled. */
export const gatewayStates = ['created', 'config_expired', 'online', 'offline', 'revoked'] as const

export const OnboardedGateway = closed({
  id: Type.Unsafe<string>({ ...Uuid, description: 'Also the id of its asset' }),
  name: Type.String(),
  access_group: Uuid,
  state: oneOf(gatewayStates),
  version: Type.Optional(Type.String()),
  configExpiresTimestamp: Type.Optional(Timestamp),
  enrolledTimestamp: Type.Optional(Timestamp),
  lastSeenTimestamp: Type.Optional(Timestamp),
  keyThumbprint: Type.Optional(Type.String({ description: 'RFC 7638, of the key that the gateway made itself' })),
  createdTimestamp: Timestamp,
})
export type OnboardedGateway = Static<typeof OnboardedGateway>

/** The file that brings a new gateway in: valid for half an hour, and once. */
export const GatewayConfig = closed({
  schema: Type.Literal('millwright.gateway-config.v1'),
  baseUrl: Type.String(),
  gatewayId: Uuid,
  name: Type.String(),
  enrolmentToken: Type.String(),
  expiresTimestamp: Timestamp,
})
export type GatewayConfig = Static<typeof GatewayConfig>

/** An elliptic-curve public key (RFC 7517), made on the gateway; its private half never leaves it. */
export const GatewayKey = closed({
  kty: Type.Literal('EC'),
  crv: Type.Literal('P-256'),
  x: Type.String({ maxLength: 64 }),
  y: Type.String({ maxLength: 64 }),
})
export type GatewayKey = Static<typeof GatewayKey>

const id = closed({ id: Uuid })

export const onboarding = contract({
  name: 'onboarding',
  title: 'Gateway onboarding',
  description: 'Bringing gateways in, seeing how they are, and sending them away.',
  version: '1.0.0',
  prefix: '/onboarding/v1',
  operations: {
    createGateway: {
      method: 'POST',
      path: '/gateways',
      summary: 'Create a gateway; its asset has the same id',
      description: 'Needs `inventory_write_asset_data` in the access group besides: the gateway writes assets there.',
      access: 'glb_gateway_manage',
      waits: true,
      body: data(closed({ name: Name, access_group: Type.Optional(Type.String({ maxLength: 128 })) })),
      answers: { 201: data(OnboardedGateway) },
      errors: ['access_group_not_found', 'forbidden'],
    },
    listGateways: {
      method: 'GET',
      path: '/gateways',
      summary: 'Gateways by name',
      access: 'glb_jobs_read',
      query: closed(pageQuery),
      answers: { 200: page(OnboardedGateway) },
    },
    getGateway: {
      method: 'GET',
      path: '/gateways/{id}',
      summary: 'One gateway and its state',
      access: 'glb_jobs_read',
      params: id,
      answers: { 200: data(OnboardedGateway) },
      errors: ['not_found'],
    },
    createGatewayConfig: {
      method: 'POST',
      path: '/gateways/{id}/config',
      summary: 'A new gateway-config.json; the one before is void',
      description: `Valid for ${onboardingLimits.configMinutes} minutes and for one enrolment. Shown once. Needs \`inventory_write_asset_data\` in the access group of the gateway besides.`,
      access: 'glb_gateway_manage',
      params: id,
      answers: { 201: GatewayConfig },
      answersSecret: true,
      errors: ['not_found', 'gateway_revoked', 'forbidden'],
    },
    revokeGateway: {
      method: 'POST',
      path: '/gateways/{id}/revoke',
      summary: 'Refuse everything from this gateway, at once',
      access: 'glb_gateway_manage',
      params: id,
      answers: { 200: data(OnboardedGateway) },
      errors: ['not_found'],
    },
    deleteGateway: {
      method: 'DELETE',
      path: '/gateways/{id}',
      summary: 'Revoke it and delete it with its asset',
      access: 'glb_gateway_manage',
      params: id,
      answers: { 204: empty },
      errors: ['not_found'],
    },
    enrol: {
      method: 'POST',
      path: '/enrol',
      summary: 'A new gateway registers its public key',
      description:
        '`proof` is a JWS (ES256) with that key over `{ gatewayId, enrolmentToken, iat }`: who has the file but not the ' +
        'key enrols nothing. The same key enrolling again with the same file gets the same answer.',
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
      summary: 'A gateway was heard of',
      access: 'peer',
      params: id,
      body: data(closed({ version: Type.Optional(Type.String({ maxLength: 64 })) })),
      answers: { 204: empty },
      errors: ['not_found'],
    },
    revokeDeletedGateways: {
      method: 'POST',
      path: '/gateways/deleted-assets',
      summary: 'Assets were deleted: revoke the gateways among them',
      access: 'peer',
      body: data(closed({ assets: Type.Array(Uuid, { minItems: 1, maxItems: onboardingLimits.deletedAssets }) })),
      answers: { 200: data(closed({ revoked: Type.Integer({ minimum: 0 }) })) },
    },
    resolveGateway: {
      method: 'GET',
      path: '/gateways/{id}/standing',
      summary: 'Whether a gateway may be given work, and where what it finds belongs',
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
          }),
        ),
      },
      errors: ['not_found'],
    },
  },
})
