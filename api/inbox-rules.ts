import { type Static, Type } from 'typebox'
import { empty } from './contract.ts'
import { closed, data, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { inboxLimits } from './inbox-limits.ts'
import { byId, filterText, oneOf } from './inventory/shapes.ts'

/** Onboarding rules: conditions on new assets, and the access group and the node into which they are onboarded. */

export const ruleModes = ['propose', 'automatic'] as const

const conditions = {
  gatewayId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'Only assets that this gateway has found' })),
  ranges: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      maxItems: inboxLimits.rangesPerRule,
      description: 'Only assets with an IPv4 address in one of these ranges: 10.0.0.0/24 or 10.0.0.1-10.0.0.20',
    }),
  ),
  filter: Type.Optional(Type.Unsafe<string>({ ...filterText, description: 'Only assets that match this filter' })),
}

const target = {
  accessGroupId: Type.Optional(Uuid),
  nodeId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'A node of a hierarchy' })),
}

const behaviour = {
  mode: Type.Optional(
    Type.Unsafe<(typeof ruleModes)[number]>({
      ...oneOf(ruleModes),
      default: 'propose',
      description:
        '`propose` shows the target in the inbox. `automatic` onboards the new assets of each scan, with the current rights of the author',
    }),
  ),
  cap: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: inboxLimits.cap,
      default: inboxLimits.defaultCap,
      description: 'The maximum number of assets that an automatic rule onboards after one scan',
    }),
  ),
}

export const OnboardingRuleInput = closed({ name: Name, ...conditions, ...target, ...behaviour })
export type OnboardingRuleInput = Static<typeof OnboardingRuleInput>

const nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

const OnboardingRuleUpdate = closed({
  name: Type.Optional(Name),
  gatewayId: nullable(Uuid),
  ranges: conditions.ranges,
  filter: nullable(filterText),
  accessGroupId: nullable(Uuid),
  nodeId: nullable(Uuid),
  // A default would change the rule in a request that only renames, pauses or moves it.
  mode: Type.Optional(oneOf(ruleModes)),
  cap: Type.Optional(Type.Integer({ minimum: 1, maximum: inboxLimits.cap })),
  paused: Type.Optional(Type.Boolean()),
  position: Type.Optional(
    Type.Integer({ minimum: 1, maximum: inboxLimits.rules, description: 'The place among the rules, from 1' }),
  ),
})
export type OnboardingRuleUpdate = Static<typeof OnboardingRuleUpdate>

export const OnboardingRule = closed({
  id: Uuid,
  position: Type.Integer({ minimum: 1, description: 'For each asset, the first rule that matches applies' }),
  name: Name,
  gatewayId: Type.Optional(Uuid),
  gatewayName: Type.Optional(Type.String()),
  ranges: Type.Array(Type.String()),
  filter: Type.Optional(Type.String()),
  accessGroupId: Type.Optional(Uuid),
  accessGroup: Type.Optional(Type.String()),
  nodeId: Type.Optional(Uuid),
  nodePath: Type.Optional(Type.Array(Type.String())),
  mode: oneOf(ruleModes),
  cap: Type.Integer(),
  paused: Type.Boolean(),
  pauseReason: Type.Optional(Type.String({ description: 'Why the platform paused the rule' })),
  author: Type.String(),
  onboarded: Type.Integer({
    minimum: 0,
    description: 'The assets that stored decisions of this rule onboarded, without undone decisions',
  }),
  lastDecisionTimestamp: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description: 'The time of the last decision that onboarded assets with this rule',
    }),
  ),
  lastRunTimestamp: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description: 'The time of the last scan whose new assets matched this automatic rule',
    }),
  ),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type OnboardingRule = Static<typeof OnboardingRule>

const RuleRun = closed({
  runId: Type.Unsafe<string>({ ...Uuid, description: 'The discovery run' }),
  jobId: Type.Unsafe<string>({ ...Uuid, description: 'The discovery' }),
  matched: Type.Integer({ description: 'New assets of the scan that match the rule' }),
  taken: Type.Integer({ description: 'Assets within the cap. The others stay in the inbox' }),
  decisionId: Type.Optional(Uuid),
  problem: Type.Optional(Type.String({ description: 'Why the rule onboarded no assets' })),
  createdTimestamp: Timestamp,
})
export type RuleRun = Static<typeof RuleRun>

export const Proposal = closed({
  assetId: Uuid,
  ruleId: Uuid,
  ruleName: Type.String(),
  accessGroupId: Type.Optional(Uuid),
  accessGroup: Type.Optional(Type.String()),
  nodeId: Type.Optional(Uuid),
  nodePath: Type.Optional(Type.Array(Type.String())),
})
export type Proposal = Static<typeof Proposal>

const RulePreview = closed({
  matched: Type.Integer({ description: 'New assets in the inbox that match now' }),
  isComplete: Type.Boolean({ description: 'false if the search was stopped before all assets were compared' }),
  assets: Type.Array(closed({ id: Uuid, name: Type.Union([Type.String(), Type.Null()]) }), {
    description: `The first ${inboxLimits.previewAssets} matching assets`,
  }),
  problem: Type.Optional(Type.String({ description: 'What the caller lacks to onboard assets into the target' })),
})

const ruleErrors = [
  'invalid_range',
  'invalid_filter',
  'unknown_property',
  'asset_not_found',
  'access_group_not_found',
  'node_not_found',
  'forbidden',
] as const

export const ruleOperations = {
  listOnboardingRules: {
    method: 'GET',
    path: '/rules',
    summary: 'List the onboarding rules in their order',
    description: 'Rules with a gateway or an access group that the caller cannot read are left out.',
    access: 'inventory_read_asset_data',
    answers: { 200: data(Type.Array(OnboardingRule)) },
  },
  createOnboardingRule: {
    method: 'POST',
    path: '/rules',
    summary: 'Create an onboarding rule',
    description:
      'A rule needs at least one condition. The caller becomes its author. An automatic rule onboards assets with the rights that its author has at that time.',
    access: 'inventory_write_asset_data',
    body: data(OnboardingRuleInput),
    answers: { 201: data(OnboardingRule) },
    errors: [...ruleErrors, 'conflict'],
  },
  readOnboardingRule: {
    method: 'GET',
    path: '/rules/{id}',
    summary: 'Read an onboarding rule',
    access: 'inventory_read_asset_data',
    params: byId,
    tagged: true,
    answers: { 200: data(OnboardingRule) },
    errors: ['not_found'],
  },
  updateOnboardingRule: {
    method: 'PATCH',
    path: '/rules/{id}',
    summary: 'Change, pause, resume or move an onboarding rule',
    description:
      'A caller that changes or resumes a rule becomes its author. Pausing and moving a rule do not change the author.',
    access: 'inventory_write_asset_data',
    params: byId,
    headers: ['if-match'],
    body: data(OnboardingRuleUpdate),
    answers: { 200: data(OnboardingRule) },
    errors: [...ruleErrors, 'not_found', 'precondition_failed'],
  },
  deleteOnboardingRule: {
    method: 'DELETE',
    path: '/rules/{id}',
    summary: 'Delete an onboarding rule and its log; onboarded assets stay as they are',
    access: 'inventory_write_asset_data',
    params: byId,
    answers: { 204: empty },
    errors: ['not_found', 'forbidden'],
  },
  previewOnboardingRule: {
    method: 'POST',
    path: '/rules/preview',
    summary: 'Show which new assets a rule would match now, without storing the rule',
    access: 'inventory_write_asset_data',
    readOnly: true,
    body: data(closed({ ...conditions, ...target })),
    answers: { 200: data(RulePreview) },
    errors: [...ruleErrors],
  },
  listRuleRuns: {
    method: 'GET',
    path: '/rules/{id}/runs',
    summary: 'List the log of an automatic rule: what it did after each scan, newest first',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed(pageQuery),
    answers: { 200: page(RuleRun) },
    errors: ['not_found'],
  },
  proposeTargets: {
    method: 'POST',
    path: '/proposals',
    summary: 'List the targets that the onboarding rules propose for new assets',
    access: 'inventory_read_asset_data',
    readOnly: true,
    body: data(
      closed({ assetIds: Type.Array(Uuid, { minItems: 1, maxItems: inboxLimits.proposedAssets, uniqueItems: true }) }),
    ),
    answers: { 200: data(Type.Array(Proposal)) },
  },
  countProposals: {
    method: 'GET',
    path: '/proposals',
    summary: 'Count the new assets for which each rule proposes a target',
    access: 'inventory_read_asset_data',
    answers: {
      200: data(
        closed({
          rules: Type.Array(
            closed({
              ruleId: Uuid,
              ruleName: Type.String(),
              assets: Type.Integer(),
              accessGroup: Type.Optional(Type.String()),
              nodePath: Type.Optional(Type.Array(Type.String())),
            }),
          ),
          isComplete: Type.Boolean({ description: 'false if the search was stopped before all assets were compared' }),
        }),
      ),
    },
  },
  listProposedAssets: {
    method: 'GET',
    path: '/rules/{id}/assets',
    summary: 'List the new assets for which a rule proposes a target, newest first',
    description: 'Assets for which an earlier rule proposes a target are left out. A paused rule proposes no targets.',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed(pageQuery),
    answers: { 200: page(closed({ id: Uuid, name: Type.Optional(Type.String()) })) },
    errors: ['not_found', 'conflict'],
  },
  endDiscoveryRun: {
    method: 'POST',
    path: '/discovery-runs/{id}/end',
    summary: 'Apply the automatic rules to the new assets of a discovery run; repeating the request has no effect',
    access: 'peer',
    params: byId,
    body: data(closed({ jobId: Uuid })),
    answers: { 204: empty },
    errors: ['conflict'],
  },
} as const
