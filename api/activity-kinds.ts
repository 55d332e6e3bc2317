/** The kinds of activity. This file has no schemas, so that the console can use it without them. */

/** The kinds of changes of assets by which the activity is filtered, each with the changes that it selects. */
export const assetActivity = {
  created: { change: 'created' },
  updated: { change: 'updated' },
  deleted: { change: 'deleted' },
  firmware: { field: 'firmware' },
  reachability: { field: 'reachability_state' },
  addresses: { field: 'addresses' },
} as const

const signIns = [
  'identity.signIn',
  'identity.signOut',
  'identity.externalSignIn',
  'identity.secondFactor',
  'identity.stepUp',
  'identity.backchannelLogout',
]

/** A kind of audit entries: all actions of some contracts, and further actions. */
type AuditKind = { services: string[]; actions: string[]; without?: string[] }

/** The kinds of audit entries by which the activity is filtered. */
export const auditActivity = {
  sign_in: { services: [], actions: signIns },
  access: { services: ['authorization', 'identity'], actions: [], without: signIns },
  credentials: { services: ['credentials'], actions: [] },
  gateways: {
    services: ['onboarding'],
    actions: [
      'discovery.switchManagedLink',
      'discovery.expireLink',
      'discovery.recoverLink',
      'inventory.recordLinkStopped',
    ],
  },
  scans: { services: ['discovery', 'monitoring'], actions: [] },
  updates: { services: ['updates'], actions: [] },
  remote_access: { services: ['remote-access'], actions: [] },
  hierarchy: { services: ['hierarchy'], actions: [] },
  files: { services: ['imports', 'exports'], actions: [] },
} as const satisfies Record<string, AuditKind>

/** Entries that were denied or that failed. */
const refused = 'refused'

export type AssetKind = keyof typeof assetActivity
export type AuditKindName = keyof typeof auditActivity

export const activityKinds = [
  ...(Object.keys(assetActivity) as AssetKind[]),
  ...(Object.keys(auditActivity) as AuditKindName[]),
  refused,
] as const
export type ActivityKind = (typeof activityKinds)[number]

/**
 * The actions of background traffic: tokens, heartbeats, leases, deliveries and settings of the console. The activity shows them
 * only with `all`.
 */
export const backgroundActions: readonly string[] = [
  'identity.token',
  'identity.revokeToken',
  'identity.confirmSession',
  'identity.putPreference',
  'identity.putGateway',
  'identity.updateGateway',
  'gatekeeper.requestCredentials',
  'gatekeeper.requestSessionCredentials',
  'credentials.deliver',
  'credentials.recordUse',
  'credentials.endAssociations',
  'discovery.recordLinks',
  'inventory.recordFound',
  'inventory.recordLinkInstalled',
  'inventory.recordLinkRunning',
  'inventory.recordLinkStopped',
  'workflows.createJob',
  'workflows.deleteJob',
  'workflows.takeJob',
  'workflows.moveJob',
  'workflows.putJobStatus',
  'workflows.putJobDefinition',
  'workflows.addJobTags',
  'workflows.deleteJobTags',
  'remote-access.openStream',
  'remote-access.storeHostKey',
  'updates.readContent',
]

/** The actions that change assets. If they succeed, the activity shows the changes of the assets instead. */
export const assetActions: readonly string[] = [
  'createAsset',
  'createAssets',
  'deleteAssets',
  'putWholeAsset',
  'importRows',
  'recordReachability',
  'setManagementState',
  'setManagementStates',
  'setReachabilityState',
  'setTrustState',
  'setFirmwareVersion',
  'setGatewayVersion',
  'setAccessGroup',
  'setAccessGroups',
  'setResponsible',
  'setResponsibles',
  'setName',
  'setDescription',
  'setPropertyValues',
  'deletePropertyValues',
  'mergeAssets',
  'undoMerge',
  'splitAsset',
  'triageAssets',
].map((name) => `inventory.${name}`)
