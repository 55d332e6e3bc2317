import { type Static, Type } from 'typebox'
import { closed, Uuid } from './envelope.ts'
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
