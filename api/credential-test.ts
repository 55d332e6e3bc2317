import { type Static, Type } from 'typebox'
import { closed, data, Uuid } from './envelope.ts'
import { oneOf } from './inventory/shapes.ts'

/** The outcomes of a test of credentials. */
export const credentialTestOutcomes = ['accepted', 'not_required', 'rejected', 'not_applicable', 'unreachable'] as const
export type CredentialTestOutcome = (typeof credentialTestOutcomes)[number]

export const CredentialTest = closed({
  jobId: Uuid,
  outcome: Type.Unsafe<CredentialTestOutcome>({
    ...oneOf(credentialTestOutcomes),
    description:
      '`not_required`: the device was also read without credentials. `not_applicable`: the address ranges or the type of the credentials do not match, so the gateway did not get them. `unreachable`: the device or the link did not respond, so it is unknown whether the credentials are correct.',
  }),
  message: Type.Optional(Type.String({ description: 'The message of the link. It contains no credentials' })),
})
export type CredentialTest = Static<typeof CredentialTest>

export const credentialTestOperations = {
  testCredential: {
    method: 'POST',
    path: '/gateways/{gatewayId}/credential-tests',
    summary: 'Test credentials against one device, through a link of a gateway',
    description:
      'The gateway reads the device once with these credentials. It gets no other credentials, and gets these only if one of their address ranges contains the address and they are for the product of the link. Also requires `glb_discovery_run`.',
    waits: true,
    access: 'glb_credential_write',
    params: closed({ gatewayId: Uuid }),
    body: data(
      closed({
        assetLinkId: Type.String({ minLength: 1, maxLength: 256 }),
        instanceId: Uuid,
        address: Type.String({ minLength: 2, maxLength: 64, description: 'The IP address of the device' }),
      }),
    ),
    answers: { 200: data(CredentialTest) },
    errors: [
      'not_found',
      'forbidden',
      'link_not_found',
      'link_not_compatible',
      'gateway_not_ready',
      'device_unreachable',
    ],
  },
} as const
