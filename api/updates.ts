import { type Static, type TSchema, Type } from 'typebox'
import { contract, empty, media } from './contract.ts'
import { closed, data, fileBody, linePattern, Name, page, pageQuery, Timestamp, textPattern, Uuid } from './envelope.ts'
import { filterText, oneOf } from './inventory/shapes.ts'
import { updateLimits } from './update-limits.ts'

export { updateLimits } from './update-limits.ts'

/** Artefacts, campaigns that install them on devices, and the versions that devices run. */

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
 * What a campaign does with a target. `update`: it is updated. `current`: it has the version already. The other outcomes are
 * reasons why the target is not updated.
 */
export const planOutcomes = ['update', 'current', 'incompatible', 'no-link', 'forbidden', 'busy'] as const
export type PlanOutcome = (typeof planOutcomes)[number]

const line = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: linePattern })
const Version = line(updateLimits.text)
const VersionRange = Type.String({
  minLength: 1,
  maxLength: updateLimits.text,
  pattern: linePattern,
  description: 'A range of versions, such as `>=2.6 <3.0`, `2.8.*` or `1.4 || 1.6`',
  examples: ['>=2.6 <3.0'],
})
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the content, in lower case hex' })
const Signature = Type.String({
  minLength: 1,
  maxLength: updateLimits.signatureCharacters,
  description: 'A detached signature: CMS in PEM format, or the text of a minisign file',
})
const count = Type.Integer({ minimum: 0 })
const Person = closed({ id: Uuid, name: Type.String() })

const artefactFields = {
  name: Name,
  manufacturer: line(updateLimits.text),
  products: Type.Array(line(updateLimits.text), {
    minItems: 1,
    maxItems: updateLimits.products,
    uniqueItems: true,
    description: 'The product ids (article numbers) or names of the products for which the artefact is made',
  }),
  hardwareVersions: Type.Optional(
    Type.Array(line(updateLimits.text), {
      minItems: 1,
      maxItems: updateLimits.hardwareVersions,
      uniqueItems: true,
      description: 'The hardware versions for which the artefact is made; without it, all',
    }),
  ),
  requires: Type.Optional(
    Type.Array(closed({ from: Type.Optional(VersionRange) }), {
      maxItems: updateLimits.requirements,
      description:
        'The installed versions from which the artefact can be installed. One of them must match; without it, all match',
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

const UpdateSettings = closed({
  allowsUnsigned: Type.Boolean({ description: 'Whether artefacts without a valid signature can be installed' }),
})
export type UpdateSettings = Static<typeof UpdateSettings>

export const MaintenanceWindow = closed({
  cron: Type.String({ minLength: 1, maxLength: 256, description: 'The starts of the window, as a cron expression' }),
  minutes: Type.Integer({ minimum: 1, maximum: updateLimits.windowMinutes, description: 'Its duration' }),
  timezone: Type.String({ minLength: 1, maxLength: 64, description: 'IANA time zone, such as Europe/Berlin' }),
})
export type MaintenanceWindow = Static<typeof MaintenanceWindow>

const NodeWindow = closed({
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

const campaignFields = {
  name: Name,
  artefactId: Uuid,
  targets: CampaignTargets,
  waves: Type.Array(Wave, {
    maxItems: updateLimits.waves,
    description: 'The parts of the targets, one after the other. The last wave also contains all remaining targets',
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
    description: 'The time in which a device must report the new version after the activation',
  }),
  allowsDowngrade: Type.Boolean({ description: 'Whether devices with a newer version are updated' }),
}

/** The fields of a new campaign. Most have a default. */
const newCampaignFields = {
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
        description: `The targets that the caller can read. Lists of campaigns contain at most ${updateLimits.shownTargets}`,
      }),
    }),
  ]),
  state: oneOf(campaignStates),
  stateReason: Type.Optional(
    Type.String({ description: 'Why the campaign is paused, stopped or waits, such as the next start of its window' }),
  ),
  artefact: closed({ name: Type.String(), version: Type.String(), kind: oneOf(artefactKinds) }),
  devices: count,
  counts: StateCounts,
  wave: Type.Optional(Type.Integer({ minimum: 1, description: 'The current wave' })),
  waveCounts: Type.Array(closed({ wave: Type.Integer({ minimum: 1 }), counts: StateCounts })),
  actions: Type.Array(oneOf(campaignActions), { description: 'What the caller can do now' }),
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
  reason: Type.Optional(Type.String({ description: 'Why the asset is not updated, or what is special in its order' })),
  order: Type.Integer({
    minimum: 0,
    description: 'Devices with a lower order are updated first. Devices with the same order can be updated together',
  }),
  after: Type.Array(Uuid, { description: 'Assets of the campaign that must be done before' }),
  notWith: Type.Array(Uuid, { description: 'Assets of the campaign that are never updated at the same time' }),
  nextWindow: Type.Optional(Timestamp),
})
export type PlannedDevice = Static<typeof PlannedDevice>

const Plan = closed({
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
  reason: Type.Optional(Type.String({ description: 'Why the device failed, is unknown, waits or is skipped' })),
  reportedVersion: Type.Optional(
    Type.String({ description: 'The version that the device reported after the activation' }),
  ),
  attempt: Type.Integer({ minimum: 1 }),
  gatewayId: Type.Optional(Uuid),
  jobId: Type.Optional(Type.String({ description: 'The job of the current attempt in /jobs/v1' })),
  lastModifiedTimestamp: Timestamp,
})
export type CampaignDevice = Static<typeof CampaignDevice>

const FailureGroup = closed({
  state: oneOf(['failed', 'unknown', 'skipped'] as const),
  reason: Type.String(),
  devices: count,
})

const DriftProduct = closed({
  manufacturer: Type.String(),
  product: Type.String({ description: 'The product id (article number)' }),
  productName: Type.Optional(Type.String()),
  devices: count,
  versions: Type.Array(
    closed({
      version: Type.Union([Type.String(), Type.Null()], { description: 'null: the version is not known' }),
      devices: count,
      isOutlier: Type.Boolean({ description: 'Whether few devices of the product have this version' }),
    }),
    { description: 'Newest first' },
  ),
  newestKnown: Type.Optional(Type.String({ description: 'The newest version of the artefacts and of the devices' })),
  newestArtefactId: Type.Optional(Uuid),
  outdated: Type.Integer({ minimum: 0, description: 'Devices with an older version than the newest known one' }),
})
export type DriftProduct = Static<typeof DriftProduct>

const AssetUpdates = closed({
  assetId: Uuid,
  version: Type.Optional(Type.String()),
  canUpdate: Type.Boolean({ description: 'Whether a link that can update the device runs' }),
  problem: Type.Optional(Type.String({ description: 'Why the device cannot be updated now' })),
  canRetrieve: Type.Array(oneOf(retrievedKinds), { description: 'What can be read from the device' }),
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

const Impact = closed({
  assetId: Uuid,
  interrupted: Type.Array(closed({ assetId: Uuid, name: Type.Optional(Type.String()) }), {
    description: 'Assets that can lose their connection while the asset restarts',
  }),
  redundant: Type.Array(closed({ assetId: Uuid, name: Type.Optional(Type.String()) }), {
    description: 'Assets that are redundant with the asset',
  }),
  isComplete: Type.Boolean({
    description: 'False if the group of connected assets is too large, or has hidden assets',
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

const byId = closed({ id: Uuid })
const byAsset = closed({ id: Uuid })
const byNode = closed({ nodeId: Uuid })
const byJob = closed({ jobId: Uuid })
const read = 'glb_jobs_read'
const manage = 'glb_update_manage'
const campaignErrors = ['not_found', 'conflict', 'forbidden'] as const
const contentType = 'application/octet-stream'

/** A campaign of this type of change. The response is the campaign after the change. */
function campaignChange<const Path extends string>(path: Path, summary: string) {
  return {
    method: 'POST',
    path: `/campaigns/{id}/${path}`,
    summary,
    access: manage,
    params: byId,
    answers: { 200: data(Campaign) },
    errors: [...campaignErrors, 'update_in_progress', 'artefact_not_usable', 'too_many_targets'],
  } as const
}

export const updates = contract({
  name: 'updates',
  title: 'Update hub',
  description: 'Artefacts, update campaigns, and the versions that devices run.',
  version: '1.0.0',
  prefix: '/updates/v1',
  operations: {
    createArtefact: {
      method: 'POST',
      path: '/artefacts',
      summary: 'Create an artefact; its content is uploaded afterwards',
      description: 'If the tenant has content with the same SHA-256 and size already, the content is complete at once.',
      access: manage,
      body: data(
        closed({
          ...artefactFields,
          version: Version,
          kind: oneOf(artefactKinds),
          sha256: Sha256,
          size: Type.Integer({ minimum: 1, maximum: updateLimits.artefactBytes }),
          signature: Type.Optional(Signature),
        }),
      ),
      answers: { 201: data(Artefact) },
      errors: ['invalid_signature', 'invalid_version_range', 'too_many_artefacts'],
    },
    listArtefacts: {
      method: 'GET',
      path: '/artefacts',
      summary: 'List artefacts, newest first',
      access: read,
      query: closed({
        ...pageQuery,
        kind: Type.Optional(oneOf(artefactKinds)),
        manufacturer: Type.Optional(line(updateLimits.text)),
        product: Type.Optional(line(updateLimits.text)),
        q: Type.Optional(
          Type.String({ maxLength: updateLimits.text, description: 'Text in the name, product or version' }),
        ),
      }),
      answers: { 200: page(Artefact) },
    },
    readArtefact: {
      method: 'GET',
      path: '/artefacts/{id}',
      summary: 'Read an artefact',
      access: read,
      params: byId,
      answers: { 200: data(Artefact) },
      errors: ['not_found'],
    },
    updateArtefact: {
      method: 'PATCH',
      path: '/artefacts/{id}',
      summary: 'Change the description of an artefact',
      description: 'The content, version and kind do not change. Campaigns that run keep their plan.',
      access: manage,
      params: byId,
      body: data(
        closed({
          name: Type.Optional(artefactFields.name),
          products: Type.Optional(artefactFields.products),
          hardwareVersions: Type.Optional(Type.Union([Type.Null(), artefactFields.hardwareVersions])),
          requires: artefactFields.requires,
          releaseNotes: artefactFields.releaseNotes,
        }),
      ),
      bodyType: 'application/merge-patch+json',
      answers: { 200: data(Artefact) },
      errors: ['not_found', 'invalid_version_range'],
    },
    deleteArtefact: {
      method: 'DELETE',
      path: '/artefacts/{id}',
      summary: 'Delete an artefact and, if no other artefact has it, its content',
      access: manage,
      params: byId,
      answers: { 204: empty },
      errors: ['not_found', 'artefact_in_use'],
    },
    readUploadOffset: {
      method: 'HEAD',
      path: '/artefacts/{id}/content',
      summary: 'Read how many bytes of the content are stored, in the header `Upload-Offset`',
      access: manage,
      params: byId,
      answers: { 204: empty },
      errors: ['not_found'],
    },
    putContent: {
      method: 'PUT',
      path: '/artefacts/{id}/content',
      summary: 'Upload content, or continue an upload',
      description: `With \`Content-Range: bytes <first>-<last>/<size>\`, the request sends a part that starts at the stored offset. Without it, it sends all bytes. \`bytes */<size>\` without a body completes an upload whose bytes are all stored. The response 202 means that bytes are missing. A part has at most ${updateLimits.contentBytesPerRequest} bytes. Bytes that arrived before the connection was lost are kept.`,
      access: manage,
      waits: true,
      params: byId,
      headers: ['content-range'],
      body: fileBody,
      bodyType: contentType,
      bodyBytes: updateLimits.contentBytesPerRequest,
      answers: { 200: data(Artefact), 202: data(Artefact) },
      errors: ['not_found', 'conflict', 'invalid_header', 'offset_mismatch', 'hash_mismatch', 'storage_full'],
    },
    readContent: {
      method: 'GET',
      path: '/artefacts/{id}/content',
      summary: 'Download the content, or a range of it',
      access: manage,
      waits: true,
      params: byId,
      headers: ['range'],
      answers: { 200: media(contentType), 206: media(contentType) },
      errors: ['not_found', 'conflict', 'range_not_satisfiable'],
    },
    putSignature: {
      method: 'PUT',
      path: '/artefacts/{id}/signature',
      summary: 'Set the signature of an artefact, and check it',
      access: manage,
      waits: true,
      params: byId,
      body: data(closed({ signature: Signature })),
      answers: { 200: data(Artefact) },
      errors: ['not_found', 'invalid_signature'],
    },
    listTrustAnchors: {
      method: 'GET',
      path: '/trust-anchors',
      summary: 'List the certificates and public keys that can sign artefacts',
      access: read,
      query: closed(pageQuery),
      answers: { 200: page(TrustAnchor) },
    },
    createTrustAnchor: {
      method: 'POST',
      path: '/trust-anchors',
      summary: 'Add a certificate or public key; signatures of existing artefacts are checked again',
      access: 'glb_access_manage',
      body: data(
        closed({
          name: Name,
          publicKey: Type.String({ minLength: 1, maxLength: updateLimits.trustAnchorCharacters }),
        }),
      ),
      answers: { 201: data(TrustAnchor) },
      errors: ['invalid_trust_anchor', 'already_exists', 'conflict'],
    },
    deleteTrustAnchor: {
      method: 'DELETE',
      path: '/trust-anchors/{id}',
      summary: 'Delete a trust anchor; artefacts that only it confirms can no longer be installed',
      access: 'glb_access_manage',
      params: byId,
      answers: { 204: empty },
      errors: ['not_found'],
    },
    readSettings: {
      method: 'GET',
      path: '/settings',
      summary: 'Read the settings of the update hub',
      access: read,
      answers: { 200: data(UpdateSettings) },
    },
    putSettings: {
      method: 'PUT',
      path: '/settings',
      summary: 'Change the settings of the update hub',
      access: 'glb_access_manage',
      body: data(UpdateSettings),
      answers: { 200: data(UpdateSettings) },
    },
    listWindows: {
      method: 'GET',
      path: '/windows',
      summary: 'List the maintenance windows of hierarchy nodes',
      access: read,
      query: closed(pageQuery),
      answers: { 200: page(NodeWindow) },
    },
    readWindow: {
      method: 'GET',
      path: '/windows/{nodeId}',
      summary: 'Read the maintenance window of a hierarchy node',
      access: read,
      params: byNode,
      answers: { 200: data(NodeWindow) },
      errors: ['not_found'],
    },
    putWindow: {
      method: 'PUT',
      path: '/windows/{nodeId}',
      summary: 'Set the maintenance window of a hierarchy node and all nodes below',
      description: 'A device is updated only when the windows of the campaign and of all its nodes are open.',
      access: manage,
      params: byNode,
      body: data(MaintenanceWindow),
      answers: { 200: data(NodeWindow) },
      errors: ['not_found', 'invalid_window', 'too_many_windows'],
    },
    deleteWindow: {
      method: 'DELETE',
      path: '/windows/{nodeId}',
      summary: 'Remove the maintenance window of a hierarchy node',
      access: manage,
      params: byNode,
      answers: { 204: empty },
      errors: ['not_found'],
    },
    createCampaign: {
      method: 'POST',
      path: '/campaigns',
      summary: 'Create a campaign as a draft',
      access: manage,
      body: data(closed(newCampaignFields)),
      answers: { 201: data(Campaign) },
      errors: ['artefact_not_found', 'invalid_filter', 'invalid_window', 'too_many_campaigns'],
    },
    listCampaigns: {
      method: 'GET',
      path: '/campaigns',
      summary: 'List campaigns, newest first',
      access: read,
      query: closed({
        ...pageQuery,
        state: Type.Optional(oneOf(campaignStates)),
        artefactId: Type.Optional(Uuid),
      }),
      answers: { 200: page(Campaign) },
    },
    readCampaign: {
      method: 'GET',
      path: '/campaigns/{id}',
      summary: 'Read a campaign',
      access: read,
      params: byId,
      answers: { 200: data(Campaign) },
      errors: ['not_found'],
    },
    updateCampaign: {
      method: 'PATCH',
      path: '/campaigns/{id}',
      summary: 'Change a draft',
      access: manage,
      params: byId,
      body: data(
        closed({
          name: Type.Optional(campaignFields.name),
          targets: Type.Optional(campaignFields.targets),
          waves: Type.Optional(campaignFields.waves),
          stopOnFailurePercent: Type.Optional(campaignFields.stopOnFailurePercent),
          window: Type.Optional(Type.Union([Type.Null(), MaintenanceWindow])),
          approval: Type.Optional(campaignFields.approval),
          concurrentDevices: Type.Optional(campaignFields.concurrentDevices),
          verifyMinutes: Type.Optional(campaignFields.verifyMinutes),
          allowsDowngrade: Type.Optional(campaignFields.allowsDowngrade),
        }),
      ),
      bodyType: 'application/merge-patch+json',
      answers: { 200: data(Campaign) },
      errors: [...campaignErrors, 'invalid_filter', 'invalid_window'],
    },
    deleteCampaign: {
      method: 'DELETE',
      path: '/campaigns/{id}',
      summary: 'Delete a draft or an ended campaign',
      access: manage,
      params: byId,
      answers: { 204: empty },
      errors: campaignErrors,
    },
    planCampaign: {
      method: 'POST',
      path: '/campaigns/{id}/plan',
      summary: 'Compute what a draft would do with each asset, and why; nothing is changed',
      access: manage,
      readOnly: true,
      waits: true,
      params: byId,
      query: closed({
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 100 })),
        offset: Type.Optional(Type.Integer({ minimum: 0, maximum: updateLimits.targets, default: 0 })),
        outcome: Type.Optional(oneOf(planOutcomes)),
      }),
      answers: { 200: data(Plan) },
      errors: [...campaignErrors, 'artefact_not_usable', 'too_many_targets'],
    },
    startCampaign: {
      ...campaignChange('start', 'Start a draft: the targets are frozen'),
      description:
        'A campaign with approval waits for another person. Requires `inventory_write_asset_data` in the access group of each device that is updated.',
      waits: true,
    },
    approveCampaign: {
      ...campaignChange('approve', 'Approve a campaign of another person'),
      description: 'The person who started the campaign, service accounts and gateways cannot approve it.',
    },
    pauseCampaign: {
      ...campaignChange('pause', 'Pause a campaign'),
      description: 'Devices that are being updated are completed. No other device starts.',
    },
    resumeCampaign: campaignChange('resume', 'Resume a paused or stopped campaign'),
    cancelCampaign: {
      ...campaignChange('cancel', 'Cancel a campaign'),
      description: 'Prepared devices discard the artefact. A device that activates the artefact is completed.',
    },
    retryCampaign: {
      ...campaignChange('retry', 'Update failed devices again'),
      description:
        'Without `assetIds`, all failed devices. Devices in the state `unknown` are retried only if they are named.',
      body: Type.Optional(
        data(closed({ assetIds: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: updateLimits.targets })) })),
      ),
    },
    listDevices: {
      method: 'GET',
      path: '/campaigns/{id}/devices',
      summary: 'List the devices of a campaign that the caller can read',
      access: read,
      params: byId,
      query: closed({
        ...pageQuery,
        state: Type.Optional(oneOf(deviceStates)),
        wave: Type.Optional(Type.Integer({ minimum: 1, maximum: updateLimits.waves })),
        reason: Type.Optional(Type.String({ maxLength: updateLimits.reason })),
      }),
      answers: { 200: page(CampaignDevice) },
      errors: ['not_found'],
    },
    listFailures: {
      method: 'GET',
      path: '/campaigns/{id}/failures',
      summary: 'Group the failed, unknown and skipped devices of a campaign by their reason',
      access: read,
      params: byId,
      answers: { 200: data(Type.Array(FailureGroup)) },
      errors: ['not_found'],
    },
    listDrift: {
      method: 'GET',
      path: '/drift',
      summary: 'List the products of readable assets with the firmware versions in use',
      access: 'inventory_read_asset_data',
      query: closed({
        ...pageQuery,
        q: Type.Optional(
          Type.String({ maxLength: updateLimits.text, description: 'Text in the manufacturer or product' }),
        ),
      }),
      answers: { 200: page(DriftProduct) },
    },
    readAssetUpdates: {
      method: 'GET',
      path: '/assets/{id}',
      summary: 'Read the version of an asset, the artefacts for it, and its updates',
      access: 'inventory_read_asset_data',
      params: byAsset,
      answers: { 200: data(AssetUpdates) },
      errors: ['not_found'],
    },
    readImpact: {
      method: 'GET',
      path: '/assets/{id}/impact',
      summary: 'Read which assets a restart of an asset can interrupt',
      access: 'inventory_read_asset_data',
      params: byAsset,
      answers: { 200: data(Impact) },
      errors: ['not_found'],
    },
    createRetrieval: {
      method: 'POST',
      path: '/assets/{id}/retrievals',
      summary: 'Read a backup, configuration or log file from a device into an artefact',
      description: 'Requires `inventory_write_asset_data` in the access group of the asset.',
      access: manage,
      params: byAsset,
      body: data(closed({ kind: oneOf(retrievedKinds) })),
      answers: { 202: data(Retrieval) },
      errors: ['not_found', 'forbidden', 'no_device_link', 'update_in_progress'],
    },
    listRetrievals: {
      method: 'GET',
      path: '/assets/{id}/retrievals',
      summary: 'List what was read from a device, newest first',
      access: read,
      params: byAsset,
      query: closed(pageQuery),
      answers: { 200: page(Retrieval) },
      errors: ['not_found'],
    },
    readJobContent: {
      method: 'GET',
      path: '/jobs/{jobId}/content',
      summary: 'Download the artefact of an update job, or a range of it; only for the gateway that holds the job',
      access: 'glb_gateway_work',
      waits: true,
      params: byJob,
      query: closed({ lease: Uuid }),
      headers: ['range'],
      answers: { 200: media(contentType), 206: media(contentType) },
      errors: ['not_found', 'lease_lost', 'range_not_satisfiable'],
    },
    readJobOffset: {
      method: 'HEAD',
      path: '/jobs/{jobId}/content',
      summary:
        'Read how many bytes a retrieval has stored, in the header `Upload-Offset`; only for the gateway that holds the job',
      access: 'glb_gateway_work',
      params: byJob,
      query: closed({ lease: Uuid }),
      answers: { 204: empty },
      errors: ['not_found', 'lease_lost'],
    },
    putJobContent: {
      method: 'PUT',
      path: '/jobs/{jobId}/content',
      summary: 'Upload what a gateway read from a device, in parts',
      description:
        'The header `Content-Range` is `bytes <first>-<last>/*`, and `bytes <first>-<last>/<size>` for the last part. A part starts at the stored offset.',
      access: 'glb_gateway_work',
      waits: true,
      params: byJob,
      query: closed({ lease: Uuid }),
      headers: ['content-range'],
      body: fileBody,
      bodyType: contentType,
      bodyBytes: updateLimits.contentBytesPerRequest,
      answers: { 204: empty },
      errors: [
        'not_found',
        'conflict',
        'lease_lost',
        'invalid_header',
        'offset_mismatch',
        'storage_full',
        'body_too_large',
      ],
    },
    noteJob: {
      method: 'POST',
      path: '/jobs/{jobId}/note',
      summary: 'Record the state and the progress that a gateway reported for an update or a retrieval',
      access: 'peer',
      params: byJob,
      body: data(
        closed({
          state: Type.String({ maxLength: 64 }),
          progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          message: Type.Optional(Type.String({ maxLength: 1_024 })),
          result: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        }),
      ),
      answers: { 204: empty },
    },
  },
})
