import { type Static, type TSchema, Type } from 'typebox'
import { closed, linePattern, Name, Timestamp, textPattern, Uuid } from './envelope.ts'
import { filterText, oneOf } from './inventory/shapes.ts'
import { updateLimits } from './update-limits.ts'

/** The states and shapes of the update hub. `updates.ts` contains its operations. */

export const artefactKinds = ['firmware', 'software', 'configuration', 'backup', 'logfile'] as const
export type ArtefactKind = (typeof artefactKinds)[number]

/** The kinds that a gateway can read from a device. */
export const retrievedKinds = ['backup', 'configuration', 'logfile'] as const
export type RetrievedKind = (typeof retrievedKinds)[number]

export const contentStates = ['missing', 'partial', 'complete'] as const
export type ContentState = (typeof contentStates)[number]

/**
 * The states of a signature. `missing`: the artefact has none. `unchecked`: the content is not complete. `valid`: a trust
 * anchor of the tenant confirms it. `untrusted`: no trust anchor confirms it. `invalid`: it does not match the content.
 */
export const signatureStates = ['missing', 'unchecked', 'valid', 'untrusted', 'invalid'] as const
export type SignatureState = (typeof signatureStates)[number]

export const signatureFormats = ['cms', 'minisign'] as const
export type SignatureFormat = (typeof signatureFormats)[number]

export const campaignStates = [
  'draft',
  'pending-approval',
  'running',
  'paused',
  'stopped',
  'finished',
  'canceled',
] as const
export type CampaignState = (typeof campaignStates)[number]

export const deviceStates = [
  'waiting',
  'downloading',
  'transferring',
  'prepared',
  'activating',
  'verifying',
  'succeeded',
  'failed',
  'unknown',
  'skipped',
  'canceled',
] as const
export type DeviceState = (typeof deviceStates)[number]

/** The states in which a device of a campaign does not change without a retry. */
export const finalDeviceStates = ['succeeded', 'failed', 'unknown', 'skipped', 'canceled'] as const

/**
 * What a campaign does with a target. `update`: it is updated. `current`: it already has the version. The other outcomes are
 * reasons why the target is not updated.
 */
export const planOutcomes = ['update', 'current', 'incompatible', 'no-link', 'forbidden', 'busy'] as const
export type PlanOutcome = (typeof planOutcomes)[number]

export const line = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: linePattern })
export const Version = line(updateLimits.text)
const VersionRange = Type.String({
  minLength: 1,
  maxLength: updateLimits.text,
  pattern: linePattern,
  description: 'A range of versions, such as `>=2.6 <3.0`, `2.8.*` or `1.4 || 1.6`',
  examples: ['>=2.6 <3.0'],
})
export const Sha256 = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256 of the content, in lower case hex',
})
export const Signature = Type.String({
  minLength: 1,
  maxLength: updateLimits.signatureCharacters,
  description: 'A detached signature: CMS in PEM format, or the text of a minisign file',
})
const count = Type.Integer({ minimum: 0 })
const Person = closed({ id: Uuid, name: Type.String() })

export const artefactFields = {
  name: Name,
  manufacturer: line(updateLimits.text),
  products: Type.Array(line(updateLimits.text), {
    minItems: 1,
    maxItems: updateLimits.products,
    uniqueItems: true,
    description: 'The products for which the artefact is intended: product ids (article numbers) or product names',
  }),
  hardwareVersions: Type.Optional(
    Type.Array(line(updateLimits.text), {
      minItems: 1,
      maxItems: updateLimits.hardwareVersions,
      uniqueItems: true,
      description:
        'The hardware versions on which the artefact can be installed. Without this list, all hardware versions',
    }),
  ),
  requires: Type.Optional(
    Type.Array(closed({ from: Type.Optional(VersionRange) }), {
      maxItems: updateLimits.requirements,
      description:
        'The ranges of installed versions on which the artefact can be installed. One range must contain the installed version. Without this list, all versions are allowed',
    }),
  ),
  releaseNotes: Type.Optional(Type.String({ maxLength: updateLimits.releaseNotes, pattern: textPattern })),
}

export const Artefact = closed({
  id: Uuid,
  ...artefactFields,
  version: Version,
  kind: oneOf(artefactKinds),
  sha256: Sha256,
  size: Type.Integer({ minimum: 0 }),
  content: closed({
    state: oneOf(contentStates),
    receivedBytes: count,
  }),
  signature: closed({
    state: oneOf(signatureStates),
    format: Type.Optional(oneOf(signatureFormats)),
    signer: Type.Optional(Type.String({ description: 'The subject of the certificate, or the id of the key' })),
    trustAnchorId: Type.Optional(Uuid),
  }),
  isUsable: Type.Boolean({ description: 'Whether a campaign can install the artefact' }),
  problem: Type.Optional(
    closed({ code: Type.String(), detail: Type.String() }, { description: 'Why the artefact cannot be installed' }),
  ),
  source: Type.Optional(
    closed({ assetId: Uuid, timestamp: Timestamp }, { description: 'The asset from which the artefact was read' }),
  ),
  createdBy: Person,
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type Artefact = Static<typeof Artefact>

const trustAnchorFormats = ['certificate', 'minisign-key'] as const

export const TrustAnchor = closed({
  id: Uuid,
  name: Name,
  format: oneOf(trustAnchorFormats),
  publicKey: Type.String({ description: 'The certificate in PEM format, or the public key of minisign' }),
  fingerprint: Type.String({ description: 'SHA-256 of the certificate, or the id of the key' }),
  subject: Type.Optional(Type.String()),
  notAfter: Type.Optional(Timestamp),
  createdBy: Person,
  createdTimestamp: Timestamp,
})
export type TrustAnchor = Static<typeof TrustAnchor>

export const UpdateSettings = closed({
  allowsUnsigned: Type.Boolean({
    description:
      'Whether artefacts without a signature, or with a signature that no trust anchor confirms, can be installed. Artefacts with an invalid signature can never be installed',
  }),
})
export type UpdateSettings = Static<typeof UpdateSettings>

export const MaintenanceWindow = closed({
  cron: Type.String({ minLength: 1, maxLength: 256, description: 'The starts of the window, as a cron expression' }),
  minutes: Type.Integer({ minimum: 1, maximum: updateLimits.windowMinutes, description: 'The duration of the window' }),
  timezone: Type.String({ minLength: 1, maxLength: 64, description: 'IANA time zone, such as Europe/Berlin' }),
})
export type MaintenanceWindow = Static<typeof MaintenanceWindow>

export const NodeWindow = closed({
  nodeId: Uuid,
  nodePath: Type.Optional(Type.String({ description: 'The names of the hierarchy and of the nodes' })),
  window: MaintenanceWindow,
  nextStart: Type.Optional(Timestamp),
})
export type NodeWindow = Static<typeof NodeWindow>

export const CampaignTargets = Type.Union([
  closed({ filter: filterText }),
  closed({ assetIds: Type.Array(Uuid, { minItems: 1, maxItems: updateLimits.targets, uniqueItems: true }) }),
])
export type CampaignTargets = Static<typeof CampaignTargets>

const Wave = Type.Union([
  closed({ percent: Type.Number({ exclusiveMinimum: 0, maximum: 100 }) }),
  closed({ count: Type.Integer({ minimum: 1, maximum: updateLimits.targets }) }),
])
export type Wave = Static<typeof Wave>

export const campaignFields = {
  name: Name,
  artefactId: Uuid,
  targets: CampaignTargets,
  waves: Type.Array(Wave, {
    maxItems: updateLimits.waves,
    description:
      'The sizes of the waves, in order. A percentage refers to all devices that are updated. The remaining devices form one more wave',
  }),
  stopOnFailurePercent: Type.Number({
    minimum: 0,
    maximum: 100,
    description:
      'The campaign stops when more than this percentage of the devices of a wave have failed or are unknown. 0 stops at the first failure, 100 never stops',
  }),
  window: Type.Optional(MaintenanceWindow),
  approval: oneOf(['none', 'required'] as const),
  concurrentDevices: Type.Integer({ minimum: 1, maximum: updateLimits.concurrentDevices }),
  verifyMinutes: Type.Integer({
    minimum: updateLimits.verifyMinutes.minimum,
    maximum: updateLimits.verifyMinutes.maximum,
    description: 'The time after the activation in which a device must report the new version',
  }),
  allowsDowngrade: Type.Boolean({
    description: 'Whether the artefact is also installed on devices with a newer version',
  }),
}

/** The fields of a new campaign. Most have a default. */
export const newCampaignFields = {
  name: campaignFields.name,
  artefactId: campaignFields.artefactId,
  targets: campaignFields.targets,
  waves: withDefault(campaignFields.waves, []),
  stopOnFailurePercent: withDefault(campaignFields.stopOnFailurePercent, 10),
  window: campaignFields.window,
  approval: withDefault(campaignFields.approval, 'none'),
  concurrentDevices: withDefault(campaignFields.concurrentDevices, 20),
  verifyMinutes: withDefault(campaignFields.verifyMinutes, updateLimits.verifyMinutes.default),
  allowsDowngrade: withDefault(campaignFields.allowsDowngrade, false),
}

function withDefault<Schema extends TSchema>(schema: Schema, value: unknown) {
  return Type.Optional(Type.Unsafe<Static<Schema>>({ ...schema, default: value }))
}

const campaignActions = ['plan', 'edit', 'start', 'approve', 'pause', 'resume', 'cancel', 'retry', 'delete'] as const
export type CampaignAction = (typeof campaignActions)[number]

const StateCounts = closed(
  Object.fromEntries(deviceStates.map((state) => [state, count])) as Record<DeviceState, typeof count>,
)
export type StateCounts = Static<typeof StateCounts>

export const Campaign = closed({
  id: Uuid,
  ...campaignFields,
  targets: Type.Union([
    closed({ filter: filterText }),
    closed({
      assetIds: Type.Array(Uuid, {
        description: `The targets that the caller can read. In a list of campaigns, each campaign contains at most ${updateLimits.shownTargets} targets`,
      }),
    }),
  ]),
  state: oneOf(campaignStates),
  stateReason: Type.Optional(
    Type.String({ description: 'The reason why the campaign is paused, stopped or waiting, such as a closed window' }),
  ),
  artefact: closed({ name: Type.String(), version: Type.String(), kind: oneOf(artefactKinds) }),
  devices: count,
  counts: StateCounts,
  wave: Type.Optional(Type.Integer({ minimum: 1, description: 'The current wave' })),
  waveCounts: Type.Array(closed({ wave: Type.Integer({ minimum: 1 }), counts: StateCounts })),
  actions: Type.Array(oneOf(campaignActions), { description: 'The actions that the caller can perform now' }),
  jobId: Type.Optional(Type.String({ description: 'The job of the campaign in /jobs/v1, after its start' })),
  createdBy: Person,
  approvedBy: Type.Optional(Person),
  createdTimestamp: Timestamp,
  startedTimestamp: Type.Optional(Timestamp),
  finishedTimestamp: Type.Optional(Timestamp),
})
export type Campaign = Static<typeof Campaign>

const Step = closed({ artefactId: Uuid, version: Type.String() })

const target = {
  assetId: Uuid,
  assetName: Type.Optional(Type.String()),
  fromVersion: Type.Optional(Type.String({ description: 'The version that the device reported last' })),
  toVersion: Type.String(),
  steps: Type.Array(Step, { description: 'The artefacts that are installed, in order' }),
  wave: Type.Integer({ minimum: 1 }),
}

/** What a campaign would do with one asset, and why. */
export const PlannedDevice = closed({
  ...target,
  outcome: oneOf(planOutcomes),
  reason: Type.Optional(
    Type.String({
      description: 'Why the asset is not updated, or why only one device of its group is updated at a time',
    }),
  ),
  order: Type.Integer({
    minimum: 0,
    description: 'Devices with a lower order are updated first. Devices with the same order can be updated together',
  }),
  after: Type.Array(Uuid, {
    description: 'Assets of the campaign whose updates must end before the update of this asset starts',
  }),
  notWith: Type.Array(Uuid, {
    description: 'Assets of the campaign that are never updated at the same time as this asset',
  }),
  nextWindow: Type.Optional(Timestamp),
})
export type PlannedDevice = Static<typeof PlannedDevice>

export const Plan = closed({
  summary: closed({
    targets: count,
    outcomes: closed(Object.fromEntries(planOutcomes.map((one) => [one, count])) as Record<PlanOutcome, typeof count>),
    waves: Type.Array(closed({ wave: Type.Integer({ minimum: 1 }), devices: count })),
    reasons: Type.Array(closed({ outcome: oneOf(planOutcomes), reason: Type.String(), devices: count })),
  }),
  devices: Type.Array(PlannedDevice),
  nextOffset: Type.Optional(count),
})
export type Plan = Static<typeof Plan>

export const CampaignDevice = closed({
  ...target,
  id: Uuid,
  campaignId: Uuid,
  state: oneOf(deviceStates),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  step: Type.Integer({ minimum: 0, description: 'The number of the current step in `steps`, starting at 0' }),
  reason: Type.Optional(
    Type.String({ description: 'The reason why the device is failed, unknown, waiting, skipped or canceled' }),
  ),
  reportedVersion: Type.Optional(
    Type.String({ description: 'The version that the device reported after the activation' }),
  ),
  attempt: Type.Integer({ minimum: 1 }),
  gatewayId: Type.Optional(Uuid),
  jobId: Type.Optional(Type.String({ description: 'The job of the current attempt in /jobs/v1' })),
  lastModifiedTimestamp: Timestamp,
})
export type CampaignDevice = Static<typeof CampaignDevice>

export const FailureGroup = closed({
  state: oneOf(['failed', 'unknown', 'skipped'] as const),
  reason: Type.String(),
  devices: count,
  assets: Type.Array(closed({ id: Uuid, name: Type.Optional(Type.String()) }), {
    description: `The first assets of the group, in the order of the campaign. At most ${updateLimits.failureAssets}`,
  }),
})

export const DriftProduct = closed({
  manufacturer: Type.String(),
  product: Type.String({ description: 'The product id (article number)' }),
  productName: Type.Optional(Type.String()),
  devices: count,
  versions: Type.Array(
    closed({
      version: Type.Union([Type.String(), Type.Null()], { description: 'The version. It is null if it is not known' }),
      devices: count,
      isOutlier: Type.Boolean({ description: 'Whether few devices of the product have this version' }),
    }),
    { description: 'Newest first' },
  ),
  newestKnown: Type.Optional(Type.String({ description: 'The newest version of the artefacts and of the devices' })),
  newestArtefactId: Type.Optional(Uuid),
  outdated: Type.Integer({ minimum: 0, description: 'The number of devices with an older version than `newestKnown`' }),
  outdatedWithGateway: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'The number of outdated devices that an asset link of a gateway has found. Campaigns update only these devices. It is absent without `withGateways`',
    }),
  ),
})
export type DriftProduct = Static<typeof DriftProduct>

/** A firmware version of a product that is older than the newest known one. The texts are those of the assets. */
export const OutdatedVersion = closed({
  manufacturer: Type.String(),
  productId: Type.Optional(Type.String()),
  productName: Type.Optional(Type.String()),
  firmwareVersion: Type.String(),
})
export type OutdatedVersion = Static<typeof OutdatedVersion>

export const AssetUpdates = closed({
  assetId: Uuid,
  version: Type.Optional(Type.String()),
  canUpdate: Type.Boolean({ description: 'Whether an asset link that can update the device is running' }),
  problem: Type.Optional(Type.String({ description: 'Why the device cannot be updated now' })),
  canRetrieve: Type.Array(oneOf(retrievedKinds), {
    description: 'The kinds of artefacts that can be read from the device',
  }),
  artefacts: Type.Array(
    closed({
      artefactId: Uuid,
      name: Type.String(),
      version: Type.String(),
      kind: oneOf(artefactKinds),
      outcome: oneOf(planOutcomes),
      reason: Type.Optional(Type.String()),
      steps: Type.Array(Step),
    }),
    { description: 'The artefacts for the product of the asset, newest first' },
  ),
  history: Type.Array(
    closed({ ...CampaignDevice.properties, campaignName: Type.String(), artefactName: Type.String() }),
    { description: 'The latest updates, newest first' },
  ),
})
export type AssetUpdates = Static<typeof AssetUpdates>

export const Impact = closed({
  assetId: Uuid,
  interrupted: Type.Array(closed({ assetId: Uuid, name: Type.Optional(Type.String()) }), {
    description: 'Assets that can lose their connection while the asset restarts',
  }),
  redundant: Type.Array(closed({ assetId: Uuid, name: Type.Optional(Type.String()) }), {
    description: 'Assets that are redundant with the asset',
  }),
  isComplete: Type.Boolean({
    description: 'False if the group of connected assets is too large, or contains assets that the caller cannot read',
  }),
  isCertain: Type.Boolean({ description: 'False in rings and when the direction of connections is not known' }),
})
export type Impact = Static<typeof Impact>

export const Retrieval = closed({
  id: Uuid,
  assetId: Uuid,
  kind: oneOf(retrievedKinds),
  state: oneOf(['waiting', 'running', 'finished', 'failed'] as const),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  reason: Type.Optional(Type.String()),
  artefactId: Type.Optional(Uuid),
  jobId: Type.String(),
  createdBy: Person,
  createdTimestamp: Timestamp,
})
export type Retrieval = Static<typeof Retrieval>
