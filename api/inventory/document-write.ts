import { Type } from 'typebox'
import { closed, data, Uuid } from '../envelope.ts'
import { Predicate } from './relations.ts'
import {
  Accepted,
  Document,
  inventoryLimits,
  managementStates,
  oneOf,
  propertyValue,
  reachabilityStates,
  responsible,
  trustStates,
  waitHeaders,
} from './shapes.ts'

/** The operation that writes a complete asset document, for version 1 of the inventory. */
export const wholeOperations = {
  putWholeAsset: {
    method: 'POST',
    path: '/assets/whole',
    summary: 'Write an asset with its states, responsible user, property values and parents',
    access: 'on-behalf',
    headers: waitHeaders,
    body: data(
      closed({
        asset: Document,
        assetId: Type.Optional(Uuid),
        states: Type.Optional(
          closed({
            management_state: Type.Optional(oneOf(managementStates)),
            reachability_state: Type.Optional(oneOf(reachabilityStates)),
            trust_state: Type.Optional(oneOf(trustStates)),
          }),
        ),
        responsible: Type.Optional(responsible),
        properties: Type.Optional(
          Type.Array(closed({ key: Uuid, value: propertyValue }), {
            maxItems: inventoryLimits.batch,
            description: 'The complete list; other values are removed',
          }),
        ),
        partOf: Type.Optional(
          closed({
            asset: Type.Union([Uuid, Type.Null()]),
            predicates: Type.Array(Predicate, {
              minItems: 1,
              maxItems: 10,
              description: 'Allowed predicates of the parent relation; the first is used for a new relation',
            }),
          }),
        ),
      }),
    ),
    answers: { 202: Accepted },
    errors: [
      'not_found',
      'invalid_asset',
      'schema_not_found',
      'access_group_not_found',
      'property_not_found',
      'forbidden',
      'ambiguous_identity',
    ],
  },
} as const
