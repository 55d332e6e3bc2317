import { type Static, Type } from 'typebox'
import { closed, data, Timestamp, Uuid } from '../envelope.ts'
import { ChangeCause } from './changes.ts'
import {
  Accepted,
  byId,
  Document,
  FacetCounts,
  filterText,
  freeText,
  inventoryLimits,
  managementStates,
  oneOf,
} from './shapes.ts'

/** Operations with which the inbox service reads and decides about new assets, in the name of a user. */

/**
 * The highest uncertainty of an identifier with which the identity of its asset is sure, or fairly sure. Serial numbers and
 * MAC addresses identify a device. The place of a module in a rack does not.
 */
export const identityConfidence = { high: 1002, medium: 1007 } as const

export const confidences = ['high', 'medium', 'low'] as const
export type Confidence = (typeof confidences)[number]

/** Returns how sure an identity with this uncertainty is. */
export function confidenceOf(uncertainty: number): Confidence {
  if (uncertainty <= identityConfidence.high) return 'high'
  return uncertainty <= identityConfidence.medium ? 'medium' : 'low'
}

/** Why another asset may be the same device. The values are in order: a strong reason is first. */
export const duplicateReasons = [
  'reported_together',
  'mac',
  'identifier',
  'serial_number',
  'name',
  'ipv4',
  'ipv6',
] as const
export type DuplicateReason = (typeof duplicateReasons)[number]

const NamedAsset = closed({ id: Uuid, name: Type.Union([Type.String(), Type.Null()]) })

export const Origin = closed({
  name: Type.Union([Type.String(), Type.Null()]),
  accessGroup: Type.String(),
  managementState: oneOf(managementStates),
  createdTimestamp: Timestamp,
  source: Type.Optional(
    closed(
      { type: Type.String(), value: Type.Optional(Type.String()), principalName: Type.String() },
      {
        description:
          'The first change of the asset. It is absent if it has been deleted from the history, or if the asset was in an access group that the caller cannot read',
      },
    ),
  ),
  runId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'The discovery run that created the asset' })),
  gateway: Type.Optional(NamedAsset),
  assetLink: Type.Optional(NamedAsset),
  confidence: oneOf(confidences),
  identifiers: Type.Array(closed({ identifier: Document, confidence: oneOf(confidences) }), {
    description: 'The identifiers of the asset. No other asset had them when the asset was created',
  }),
  possibleDuplicate: Type.Optional(
    closed({
      ...NamedAsset.properties,
      managementState: oneOf(managementStates),
      accessGroup: Type.String(),
      reasons: Type.Array(closed({ kind: oneOf(duplicateReasons), value: Type.String() })),
    }),
  ),
})
export type Origin = Static<typeof Origin>

const RuleConditions = {
  filter: Type.Optional(filterText),
  gatewayId: Type.Optional(Uuid),
  ranges: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: inventoryLimits.matchedRanges })),
}

export const triageOperations = {
  matchNewAssets: {
    method: 'POST',
    path: '/triage/matches',
    summary: 'Readable new assets that match the conditions of an onboarding rule, in order of their ids',
    access: 'on-behalf',
    readOnly: true,
    body: data(
      closed({
        ...RuleConditions,
        runId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'Only assets that this run created' })),
        after: Type.Optional(Uuid),
      }),
    ),
    answers: { 200: data(closed({ assets: Type.Array(NamedAsset), next: Type.Optional(Uuid) })) },
    errors: ['invalid_filter', 'unknown_property', 'invalid_range'],
  },
  matchRules: {
    method: 'POST',
    path: '/triage/rule-matches',
    summary: 'The first onboarding rule that matches, for each of these assets that is readable and new',
    access: 'on-behalf',
    readOnly: true,
    bodyBytes: 1024 * 1024,
    body: data(
      closed({
        rules: Type.Array(closed(RuleConditions), { maxItems: inventoryLimits.matchedRules }),
        assetIds: Type.Array(Uuid, { maxItems: inventoryLimits.batch }),
      }),
    ),
    answers: {
      200: data(
        Type.Array(closed({ assetId: Uuid, rule: Type.Integer({ minimum: 0, description: 'The index of the rule' }) })),
      ),
    },
    errors: ['invalid_filter', 'unknown_property', 'invalid_range'],
  },
  countFacets: {
    method: 'POST',
    path: '/triage/facets',
    summary: 'Count assets by several properties, each with its own filter',
    access: 'on-behalf',
    readOnly: true,
    body: data(
      closed({
        facets: Type.Array(closed({ by: Type.String({ maxLength: 128 }), filter: filterText }), {
          maxItems: inventoryLimits.countedFacets,
        }),
        q: freeText,
        limit: Type.Integer({ minimum: 1, maximum: 100 }),
      }),
    ),
    answers: { 200: data(Type.Array(FacetCounts)) },
    errors: ['invalid_filter', 'unknown_property'],
  },
  readOrigin: {
    method: 'GET',
    path: '/triage/assets/{id}',
    summary: 'How an asset came into the inventory, and the asset that is its most likely duplicate',
    access: 'on-behalf',
    params: byId,
    answers: { 200: data(Origin) },
    errors: ['not_found'],
  },
  triageAssets: {
    method: 'POST',
    path: '/triage',
    summary: 'Set the management state and the access group of assets, if they still have the expected ones',
    access: 'on-behalf',
    headers: ['prefer'],
    body: data(
      closed({
        cause: Type.Optional(ChangeCause),
        assets: Type.Array(
          closed({
            assetId: Uuid,
            expectedStates: Type.Array(oneOf(managementStates), { minItems: 1, maxItems: managementStates.length }),
            expectedAccessGroupId: Type.Optional(Uuid),
            state: oneOf(managementStates),
            accessGroupId: Type.Optional(Uuid),
          }),
          { minItems: 1, maxItems: inventoryLimits.batch },
        ),
      }),
    ),
    answers: { 202: Accepted },
  },
} as const
