import { type Static, Type } from 'typebox'
import { contract } from './contract.ts'
import { closed, data, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { inboxFacets } from './inbox-filter.ts'
import { inboxLimits } from './inbox-limits.ts'
import { Proposal, ruleOperations } from './inbox-rules.ts'
import { byId, freeText, oneOf } from './inventory/shapes.ts'
import { confidences, Origin } from './inventory/triage.ts'

/** The contract of the inbox service: review of new assets, decisions that can be undone, and onboarding rules. */

export { inboxLimits } from './inbox-limits.ts'
export type { OnboardingRule, OnboardingRuleInput, OnboardingRuleUpdate, Proposal, RuleRun } from './inbox-rules.ts'

const Scan = closed({
  jobId: Type.Unsafe<string>({ ...Uuid, description: 'The discovery' }),
  number: Type.Integer({ minimum: 1, description: 'The number of the run of this discovery' }),
  gatewayName: Type.Optional(Type.String()),
  assetLinkId: Type.String(),
  deviceClass: Type.Optional(Type.String()),
  scope: Type.Optional(
    Type.Array(Type.String(), { description: 'The values of the filters of the run, for example its IP range' }),
  ),
  createdTimestamp: Timestamp,
  startedTimestamp: Type.Optional(Timestamp),
})
export type Scan = Static<typeof Scan>

const FacetValue = closed({
  value: Type.Union([Type.String(), Type.Null()]),
  count: Type.Integer(),
  scan: Type.Optional(Scan),
})
export type FacetValue = Static<typeof FacetValue>

export const InboxAsset = closed({
  ...Origin.properties,
  scan: Type.Optional(Scan),
  proposal: Type.Optional(Proposal),
})
export type InboxAsset = Static<typeof InboxAsset>

export const decisionActions = ['onboard', 'ignore', 'return'] as const
export type DecisionAction = (typeof decisionActions)[number]

export const decisionStates = ['running', 'finished', 'failed'] as const

export const Decision = closed({
  id: Uuid,
  action: oneOf([...decisionActions, 'undo'] as const),
  state: oneOf(decisionStates),
  total: Type.Integer(),
  changed: Type.Integer(),
  failed: Type.Integer({ description: 'Assets that were not changed, for example because they are no longer new' }),
  notAssigned: Type.Integer({ description: 'Changed assets that could not be assigned to the node' }),
  problem: Type.Optional(closed({ code: Type.String(), detail: Type.String() })),
  ruleId: Type.Optional(Uuid),
  runId: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: 'The discovery run after which an automatic rule decided' }),
  ),
  undoes: Type.Optional(Uuid),
  undoneBy: Type.Optional(Uuid),
  canUndo: Type.Boolean({ description: 'Whether the caller can undo the decision now' }),
  undoUntilTimestamp: Timestamp,
  assets: Type.Array(closed({ id: Uuid, name: Type.Optional(Type.String()) }), {
    description: `The first ${inboxLimits.namedAssets} assets that the caller can read. Deleted assets are left out, and so are all assets ${inboxLimits.undoDays} days after the decision`,
  }),
  targets: Type.Array(
    closed({
      assets: Type.Integer({ minimum: 1, description: 'The number of assets that get this target' }),
      accessGroup: Type.Optional(Type.String()),
      nodePath: Type.Optional(Type.Array(Type.String())),
    }),
    {
      description: `The access groups and nodes that onboarded assets get, most assets first. At most ${inboxLimits.namedTargets}. The caller cannot read the names that are left out`,
    },
  ),
  principalName: Type.String(),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type Decision = Static<typeof Decision>

const DecisionItem = closed({
  assetId: Uuid,
  name: Type.Optional(Type.String()),
  outcome: oneOf(['pending', 'changed', 'failed'] as const),
  code: Type.Optional(Type.String()),
  detail: Type.Optional(Type.String()),
})
export type DecisionItem = Static<typeof DecisionItem>

const wait = Type.Optional(
  Type.Integer({ minimum: 1, maximum: inboxLimits.waitSeconds, description: 'Seconds to wait for the final state' }),
)

const facetText = Type.Optional(
  Type.String({
    maxLength: 256,
    description: 'Only assets with this value. An empty text means assets without a value',
  }),
)

export const inbox = contract({
  name: 'inbox',
  title: 'Inbox',
  description: 'Review of new assets: facets, origin, decisions that can be undone, and onboarding rules.',
  version: '1.0.0',
  prefix: '/inbox/v1',
  operations: {
    readInboxFacets: {
      method: 'GET',
      path: '/facets',
      summary: 'Count the assets of the inbox by scan, subnet, manufacturer, product family, type and confidence',
      description:
        'Each facet is counted with the conditions of the other facets. To list the assets, use the property names of the facets in the filter of `GET /inventory/v2/assets`. Gateways and asset links are not in the inbox.',
      access: 'inventory_read_asset_data',
      query: closed({
        state: Type.Optional(oneOf(['unknown', 'ignored'] as const)),
        q: freeText,
        scan: Type.Optional(
          Type.Union([Uuid, Type.Literal('')], {
            description: 'Only assets that this run created. An empty text means assets without a scan',
          }),
        ),
        subnet: facetText,
        manufacturer: facetText,
        family: facetText,
        type: facetText,
        confidence: Type.Optional(oneOf(confidences)),
      }),
      answers: {
        200: data(
          closed(Object.fromEntries(inboxFacets.map((facet) => [facet, Type.Array(FacetValue)])) as FacetLists),
        ),
      },
    },
    readInboxAsset: {
      method: 'GET',
      path: '/assets/{id}',
      summary: 'Read why an asset is new, its most likely duplicate, and the target that a rule proposes',
      access: 'inventory_read_asset_data',
      params: byId,
      answers: { 200: data(InboxAsset) },
      errors: ['not_found'],
    },
    createDecision: {
      method: 'POST',
      path: '/decisions',
      summary: 'Onboard or ignore assets, or return them to the inbox',
      description: `The decision runs in the background with the current rights of the caller. Send \`assetIds\`, or \`ruleId\` to onboard all assets for which this rule proposes a target. An asset that is no longer new is not changed. The decision can be undone for ${inboxLimits.undoDays} days.`,
      access: 'inventory_write_asset_data',
      bodyBytes: 1024 * 1024,
      body: data(
        closed({
          action: oneOf(decisionActions),
          assetIds: Type.Optional(
            Type.Array(Uuid, { minItems: 1, maxItems: inboxLimits.assetsPerDecision, uniqueItems: true }),
          ),
          ruleId: Type.Optional(Uuid),
          accessGroupId: Type.Optional(
            Type.Unsafe<string>({ ...Uuid, description: 'The new access group of onboarded assets' }),
          ),
          nodeId: Type.Optional(
            Type.Unsafe<string>({ ...Uuid, description: 'The node to which onboarded assets are assigned' }),
          ),
          useProposals: Type.Optional(
            Type.Boolean({
              default: false,
              description: 'Assets for which a rule proposes a target get this target instead',
            }),
          ),
        }),
      ),
      answers: { 202: data(Decision) },
      errors: ['access_group_not_found', 'node_not_found', 'not_found', 'forbidden', 'conflict'],
    },
    listDecisions: {
      method: 'GET',
      path: '/decisions',
      summary: 'List decisions, newest first',
      description: 'A caller that cannot read all assets sees only its own decisions.',
      access: 'inventory_read_asset_data',
      query: closed({ ...pageQuery, ruleId: Type.Optional(Uuid), action: Type.Optional(Decision.properties.action) }),
      answers: { 200: page(Decision) },
    },
    readDecision: {
      method: 'GET',
      path: '/decisions/{id}',
      summary: 'Read a decision with its progress',
      waits: true,
      access: 'inventory_read_asset_data',
      params: byId,
      query: closed({ wait }),
      answers: { 200: data(Decision) },
      errors: ['not_found'],
    },
    listDecisionResults: {
      method: 'GET',
      path: '/decisions/{id}/results',
      summary: 'List the assets of a decision with their results',
      description: `The results are deleted after ${inboxLimits.undoDays} days. Assets that the caller cannot read are left out.`,
      access: 'inventory_read_asset_data',
      params: byId,
      query: closed({ ...pageQuery, outcome: Type.Optional(DecisionItem.properties.outcome) }),
      answers: { 200: page(DecisionItem) },
      errors: ['not_found'],
    },
    undoDecision: {
      method: 'POST',
      path: '/decisions/{id}/undo',
      summary: 'Undo a decision: return its assets to their previous state, access group and node',
      description: 'Assets that were changed since the decision stay as they are.',
      access: 'inventory_write_asset_data',
      params: byId,
      answers: { 202: data(Decision) },
      errors: ['not_found', 'conflict', 'forbidden'],
    },
    ...ruleOperations,
  },
})

type FacetLists = Record<(typeof inboxFacets)[number], ReturnType<typeof Type.Array<typeof FacetValue>>>
