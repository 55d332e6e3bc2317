import { oneOf } from '@millwright/api/inventory/shapes.ts'
import { artefactKinds, retrievedKinds, updateLimits } from '@millwright/api/updates.ts'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import type { LeasedJob } from '../jobs/leased-job.ts'

/** This file contains the definitions of the jobs of the workflows `artefact-update` and `artefact-retrieval`. */

const Text = Type.String()
const Texts = Type.Array(Text)

const deviceFields = {
  assetId: Text,
  assetLinkId: Type.String({ minLength: 1 }),
  assetIdentifiers: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
  addresses: Type.Optional(Texts),
  foundAddresses: Type.Optional(Texts),
}

const TrustAnchor = Type.Object({
  id: Text,
  format: oneOf(['certificate', 'minisign-key'] as const),
  publicKey: Text,
})

export const UpdateDefinition = Type.Object({
  ...deviceFields,
  artefact: Type.Object({
    id: Text,
    kind: oneOf(artefactKinds),
    name: Text,
    version: Text,
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    size: Type.Integer({ minimum: 1, maximum: updateLimits.artefactBytes }),
    signature: Type.Optional(Type.String({ maxLength: updateLimits.signatureCharacters })),
    products: Type.Optional(Texts),
  }),
  trustAnchors: Type.Array(TrustAnchor, { maxItems: updateLimits.trustAnchors }),
  allowsUnsigned: Type.Boolean(),
  fromVersion: Type.Optional(Text),
  verifyMinutes: Type.Number({ exclusiveMinimum: 0, maximum: updateLimits.verifyMinutes.maximum }),
})
export type UpdateDefinition = Static<typeof UpdateDefinition>

export const RetrievalDefinition = Type.Object({
  ...deviceFields,
  kind: oneOf(retrievedKinds),
})
export type RetrievalDefinition = Static<typeof RetrievalDefinition>

/** The fields of a job that name its device. */
export type DeviceDefinition = Omit<RetrievalDefinition, 'kind'>

/** Returns the definition of a job, or the reason why it is not valid. */
export function definitionOf<Definition extends typeof UpdateDefinition | typeof RetrievalDefinition>(
  schema: Definition,
  { job }: LeasedJob,
): { definition: Static<Definition> } | { fault: string } {
  const [error] = Value.Errors(schema, job.definition)
  if (error === undefined) return { definition: job.definition as Static<Definition> }
  return { fault: `The job is not valid: ${error.instancePath} ${error.message}` }
}
