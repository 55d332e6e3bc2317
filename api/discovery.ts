import { type Static, Type } from 'typebox'
import { contract, empty } from './contract.ts'
import { credentialTestOperations } from './credential-test.ts'
import { describedRunOperations } from './described-runs.ts'
import { comparisonFields, Finding } from './discovery-findings.ts'
import { closed, data, describedPattern, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import {
  CredentialUse,
  DeviceAddresses,
  DeviceError,
  gatekeeperLimits,
  LinkEvent,
  LinkParameter,
  LinkReport,
  ManagedLink,
  ManagedLinks,
} from './gatekeeper.ts'
import { inventoryLimits, oneOf } from './inventory/shapes.ts'
import { RestartedTimestamp } from './jobs.ts'
import { monitoredDeviceOperations } from './monitored-devices.ts'
import { receiptStates, SignedReceipt } from './receipt.ts'
import { SentFunction } from './sent-function.ts'

export const discoveryLimits = {
  filters: 64,
  keysPerRequest: 256,
  reportPage: 100,
  nextRuns: 5,
  describedRuns: 100,
} as const

/** The comparison operators that the protocol of asset links defines for filters. */
export const comparisonOperators = [
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_THAN',
  'GREATER_THAN_OR_EQUAL_TO',
  'LESS_THAN',
  'LESS_THAN_OR_EQUAL_TO',
  'STRING_PATTERN',
] as const

const key = Type.String({ minLength: 1, maxLength: 256 })
/** The value of a filter or option. Existing clients send every value as text. */
const value = Type.Union([Type.String({ maxLength: 4_096 }), Type.Number(), Type.Boolean()], {
  description: 'Text, or the value itself. A value of data type `bytes` is base64.',
})

export const DiscoveryFilter = closed({ key, comparisonOperator: Type.Optional(oneOf(comparisonOperators)), value })
export const DiscoveryOption = DiscoveryFilter

const Schedule = closed({
  cron: Type.String({ minLength: 1, maxLength: 256, description: 'Five fields: minute hour day month weekday' }),
  timezone: Type.Optional(Type.String({ maxLength: 64, description: 'An IANA name; default: UTC' })),
})

const filters = Type.Array(DiscoveryFilter, { maxItems: discoveryLimits.filters })
const options = Type.Array(DiscoveryOption, { maxItems: discoveryLimits.filters })

const discoveryJobType = describedPattern(
  '^DISCOVERY$',
  'must be DISCOVERY. To monitor devices, use POST /monitoring/v1/monitorings',
)

const NewDiscovery = closed({
  assetLinkId: Type.String({ minLength: 1, maxLength: 256, description: 'The app instance id of the link' }),
  deviceClass: Type.Optional(
    Type.String({ maxLength: 256, description: 'Ignored: a discovery has the device class that its link reports' }),
  ),
  scanMode: Type.Optional(Type.Literal('FULL')),
  jobType: Type.Optional(Type.Unsafe<'DISCOVERY'>(Type.String({ pattern: discoveryJobType }))),
  discoveryFilters: Type.Optional(filters),
  discoveryOptions: Type.Optional(options),
  schedule: Type.Optional(Schedule),
})
export type NewDiscovery = Static<typeof NewDiscovery>

const count = Type.Integer({ minimum: 0 })

export const discoveryStates = ['created', 'running', 'finished', 'failed', 'canceled'] as const

const runFields = {
  state: oneOf(discoveryStates),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  message: Type.Optional(Type.String()),
  found: count,
  created: count,
  updated: count,
  unchanged: count,
  ...comparisonFields,
  errors: count,
  startedTimestamp: Type.Optional(Timestamp),
  restartedTimestamp: Type.Optional(RestartedTimestamp),
  endedTimestamp: Type.Optional(Timestamp),
}

export const DiscoveryRun = closed({
  id: Uuid,
  jobId: Type.Unsafe<string>({ ...Uuid, description: 'The discovery of this run' }),
  number: Type.Integer({ minimum: 1 }),
  trigger: Type.Union([Type.Literal('person'), Type.Literal('schedule')]),
  createdTimestamp: Timestamp,
  ...runFields,
})
export type DiscoveryRun = Static<typeof DiscoveryRun>

/** A discovery with its latest run. */
export const Discovery = closed({
  jobId: Uuid,
  gatewayId: Uuid,
  assetLinkId: Type.String(),
  deviceClass: Type.Optional(Type.String()),
  scanMode: Type.Literal('FULL'),
  jobType: Type.Literal('DISCOVERY'),
  discoveryFilters: filters,
  discoveryOptions: options,
  schedule: Type.Optional(
    closed({
      cron: Type.String(),
      timezone: Type.String(),
      paused: Type.Boolean(),
      nextRuns: Type.Array(Timestamp),
      lastDueTimestamp: Type.Optional(
        Type.Unsafe<string>({
          ...Timestamp,
          description: 'The planned time of the latest scheduled run. The run starts later after a downtime',
        }),
      ),
      missedRuns: count,
    }),
  ),
  runs: count,
  runId: Type.Optional(Uuid),
  createdBy: Type.String(),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
  ...runFields,
})
export type Discovery = Static<typeof Discovery>

/** An asset link of a gateway. */
export const AssetLink = closed({
  assetLinkId: Type.String(),
  assetId: Uuid,
  deviceClass: Type.Optional(Type.String()),
  product: Type.Optional(
    closed({
      vendor: Type.String(),
      name: Type.String(),
      description: Type.Optional(Type.String()),
      documentation: Type.Optional(Type.String()),
    }),
  ),
  version: Type.Optional(Type.String()),
  interfaces: Type.Array(Type.String()),
  compatible: Type.Boolean(),
  incompatibility: Type.Optional(Type.String({ description: 'The reason if the link is not compatible' })),
  filters: Type.Array(LinkParameter),
  options: Type.Array(LinkParameter),
  endpoint: Type.String(),
  budgeted: Type.Boolean({
    description:
      'Whether the link asks its gateway for a permit before it sends anything. Other links have no receipts',
  }),
  sends: Type.Optional(
    Type.Array(SentFunction, {
      description: 'The functions that the link sends to devices. Links that are not budgeted do not list them',
    }),
  ),
  credentialSchemas: Type.Optional(
    Type.Integer({ description: 'The number of credential schemas of the link. It is absent if the link has none' }),
  ),
  reachable: Type.Boolean(),
  problem: Type.Optional(Type.String()),
  state: LinkReport.properties.state,
  lastSeenTimestamp: Timestamp,
  events: Type.Array(LinkEvent, { description: 'The latest alarms and driver events, in order of time' }),
})
export type AssetLink = Static<typeof AssetLink>

const DiscoveryOrder = Type.Unsafe<'-created' | '-latestRun'>({
  ...oneOf(['-created', '-latestRun'] as const),
  default: '-created',
  description: 'By creation or latest run. By run, a discovery moves between pages when it runs',
})

const jobId = closed({ jobId: Uuid })
const gatewayId = closed({ gatewayId: Uuid })
const assetId = closed({ id: Uuid })
const runQuery = Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'The run; default: the latest' }))

const ReceiptSummary = closed({
  lease: Type.Unsafe<string>({ ...Uuid, description: 'The lease of the job under which the gateway scanned' }),
  state: oneOf(receiptStates),
  from: Timestamp,
  to: Timestamp,
  receivedTimestamp: Timestamp,
})

const PropertyError = closed({ code: Type.Integer(), name: Type.String(), description: Type.String() })

const UpdateLink = closed({
  assetId: Uuid,
  link: Type.Optional(
    closed({
      gatewayId: Uuid,
      assetLinkId: Type.String(),
      linkAssetId: Uuid,
      kinds: oneOf(['all', 'firmware'] as const),
      canRetrieve: Type.Boolean({ description: 'Whether the link reads artefacts from devices' }),
    }),
  ),
  problem: Type.Optional(Type.String({ description: 'Why no link can update the device' })),
})
export type UpdateLink = Static<typeof UpdateLink>

export const discovery = contract({
  name: 'discovery',
  title: 'Discovery',
  description: 'Discovery of devices: run a link on a gateway, on demand or by schedule, and read the report.',
  version: '1.0.0',
  prefix: '/discovery/v1',
  formerPrefixes: [{ prefix: '/discovery/v1-earlyaccess', deprecatedOn: '2026-11-01', sunsetOn: '2028-11-01' }],
  operations: {
    createDiscovery: {
      method: 'POST',
      path: '/gateways/{gatewayId}/discoveries',
      summary: 'Discover devices with a link of a gateway, on demand or by schedule',
      description: 'Clients of the early-access version can also send the fields at the top level of the body.',
      access: 'glb_discovery_run',
      params: gatewayId,
      body: Type.Union([data(NewDiscovery), NewDiscovery]),
      answers: {
        201: closed({ jobId: Uuid, id: Uuid, data: closed({ jobId: Uuid, id: Uuid }) }),
      },
      errors: ['not_found', 'link_not_found', 'link_not_compatible', 'unsupported_parameter', 'gateway_not_ready'],
    },
    listDiscoveries: {
      method: 'GET',
      path: '/discoveries',
      summary: 'List discoveries, newest first',
      access: 'glb_jobs_read',
      query: closed({
        ...pageQuery,
        gatewayId: Type.Optional(Uuid),
        assetLinkId: Type.Optional(Type.String({ maxLength: 256 })),
        scheduled: Type.Optional(Type.Boolean()),
        sort: Type.Optional(DiscoveryOrder),
      }),
      answers: { 200: page(Discovery) },
    },
    getDiscovery: {
      method: 'GET',
      path: '/discoveries/{jobId}',
      summary: 'Read a discovery with its latest run',
      access: 'glb_jobs_read',
      params: jobId,
      tagged: true,
      answers: { 200: data(Discovery) },
      errors: ['not_found'],
    },
    updateDiscovery: {
      method: 'PATCH',
      path: '/discoveries/{jobId}',
      summary: 'Change schedule, filters or options of future runs; pause and resume',
      access: 'glb_discovery_run',
      params: jobId,
      headers: ['if-match'],
      body: data(
        closed({
          discoveryFilters: Type.Optional(filters),
          discoveryOptions: Type.Optional(options),
          schedule: Type.Optional(Type.Union([Schedule, Type.Null()])),
          paused: Type.Optional(Type.Boolean()),
        }),
      ),
      answers: { 200: data(Discovery) },
      errors: [
        'not_found',
        'link_not_found',
        'link_not_compatible',
        'unsupported_parameter',
        'conflict',
        'precondition_failed',
      ],
    },
    deleteDiscovery: {
      method: 'DELETE',
      path: '/discoveries/{jobId}',
      summary: 'Delete a discovery with its schedule and reports; cancels a current run, assets stay',
      access: 'glb_discovery_run',
      params: jobId,
      answers: { 204: empty },
      errors: ['not_found'],
    },
    cancelDiscovery: {
      method: 'POST',
      path: '/discoveries/{jobId}/cancel',
      summary: 'Cancel the current run',
      access: 'glb_discovery_run',
      params: jobId,
      answers: { 202: data(closed({ runId: Uuid })) },
      errors: ['not_found', 'conflict'],
    },
    runDiscovery: {
      method: 'POST',
      path: '/discoveries/{jobId}/run',
      summary: 'Run a discovery again',
      access: 'glb_discovery_run',
      params: jobId,
      answers: { 202: data(closed({ runId: Uuid })) },
      errors: ['not_found', 'conflict', 'link_not_found', 'link_not_compatible', 'gateway_not_ready'],
    },
    listRuns: {
      method: 'GET',
      path: '/discoveries/{jobId}/runs',
      summary: 'List the runs of a discovery, newest first, and its next scheduled runs',
      access: 'glb_jobs_read',
      params: jobId,
      query: closed(pageQuery),
      answers: {
        200: closed({
          data: Type.Array(DiscoveryRun),
          meta: closed({
            totalElements: count,
            elements: count,
            offset: count,
            nextRuns: Type.Array(Timestamp),
          }),
        }),
      },
      errors: ['not_found'],
    },
    getReport: {
      method: 'GET',
      path: '/discoveries/{jobId}/report',
      summary: 'Read the report of a run: new, changed and gone assets, and errors per device',
      access: 'glb_jobs_read',
      params: jobId,
      query: closed({
        ...pageQuery,
        run: runQuery,
        outcome: Type.Optional(Finding.properties.outcome),
      }),
      answers: {
        200: data(
          closed({
            run: DiscoveryRun,
            findings: Type.Array(Finding),
            errors: Type.Array(DeviceError),
            totalFindings: count,
            totalErrors: count,
          }),
        ),
      },
      errors: ['not_found'],
    },
    getReceipt: {
      method: 'GET',
      path: '/discoveries/{jobId}/receipt',
      summary: 'Read the receipt of a run: what was sent to each device, signed by the gateway',
      description:
        '`data` is the receipt as the gateway signed it. Save it to verify it offline with `millwright receipt verify`. A run has several receipts if the gateway was interrupted and scanned again. `meta.receipts` lists all of them.',
      access: 'glb_jobs_read',
      params: jobId,
      query: closed({
        run: runQuery,
        lease: Type.Optional(
          Type.Unsafe<string>({ ...Uuid, description: 'A lease of `meta.receipts`; default: the newest receipt' }),
        ),
      }),
      answers: {
        200: closed({
          data: SignedReceipt,
          meta: closed({
            verified: Type.Boolean({
              description: 'Whether the signature is valid and was created with the key of the gateway',
            }),
            keyThumbprint: Type.String({
              description: 'RFC 7638 thumbprint of the key of the gateway when it sent the receipt',
            }),
            receivedTimestamp: Timestamp,
            lease: ReceiptSummary.properties.lease,
            receipts: Type.Array(ReceiptSummary, { description: 'All receipts of the run, newest first' }),
          }),
        }),
      },
      errors: ['not_found', 'run_not_finished', 'link_not_budgeted', 'receipt_not_sent'],
    },
    listAssetLinks: {
      method: 'GET',
      path: '/gateways/{gatewayId}/asset-links',
      summary: 'List the links of a gateway',
      access: 'glb_jobs_read',
      params: gatewayId,
      answers: { 200: data(Type.Array(AssetLink)) },
      errors: ['not_found'],
    },
    listManagedLinks: {
      method: 'GET',
      path: '/gateways/{gatewayId}/links',
      summary: 'List the built-in links that a gateway can run',
      description:
        'The state is the one that the gateway last reported. The list is empty if the gateway cannot run links, and contains no links that are hidden from the caller. `log` requires `inventory_write_asset_data` in the access group of the gateway.',
      access: 'glb_jobs_read',
      params: gatewayId,
      answers: { 200: data(ManagedLinks) },
      errors: ['not_found'],
    },
    switchManagedLink: {
      method: 'PUT',
      path: '/gateways/{gatewayId}/links/{name}',
      summary: 'Start or stop a built-in link of a gateway',
      description:
        'Responds when the gateway has stored the change. The change outlasts restarts of the gateway. Also requires ' +
        '`inventory_write_asset_data` in the access group of the gateway.',
      waits: true,
      access: 'glb_gateway_manage',
      params: closed({ gatewayId: Uuid, name: Type.String({ minLength: 1, maxLength: 64 }) }),
      body: data(closed({ enabled: Type.Boolean() })),
      answers: { 200: data(ManagedLink) },
      errors: ['not_found', 'gateway_not_ready', 'conflict', 'forbidden'],
    },
    readProperties: {
      method: 'POST',
      path: '/assets/{id}/properties',
      summary: 'Read properties from a device',
      waits: true,
      access: 'inventory_read_asset_data',
      readOnly: true,
      params: assetId,
      body: data(closed({ keys: Type.Array(key, { maxItems: discoveryLimits.keysPerRequest }) })),
      answers: {
        200: data(
          Type.Array(
            Type.Union([
              closed({ key: Type.String(), value: Type.Unknown() }),
              closed({ key: Type.String(), error: PropertyError }),
            ]),
          ),
        ),
      },
      errors: ['not_found', 'no_device_link', 'device_protected', 'device_unreachable'],
    },
    ...credentialTestOperations,
    listSupportedProperties: {
      method: 'GET',
      path: '/assets/{id}/supported-properties',
      summary: 'List the properties that can be read from a device',
      waits: true,
      access: 'inventory_read_asset_data',
      params: assetId,
      answers: {
        200: data(
          Type.Array(
            closed({
              key: Type.String(),
              dataType: Type.Optional(Type.String()),
              schemaUri: Type.Optional(Type.String()),
              contentType: Type.Optional(Type.String()),
            }),
          ),
        ),
      },
      errors: ['not_found', 'no_device_link', 'device_protected', 'device_unreachable'],
    },
    recordUpload: {
      method: 'POST',
      path: '/runs/{id}/uploads',
      summary: 'Store an upload of a run',
      access: 'peer',
      params: assetId,
      body: data(
        closed({
          gatewayId: Uuid,
          jobId: Uuid,
          lease: Uuid,
          sequence: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
          assets: Type.Array(Type.Record(Type.String(), Type.Unknown()), { maxItems: gatekeeperLimits.foundPerUpload }),
          errors: Type.Array(DeviceError, { maxItems: gatekeeperLimits.errorsPerUpload }),
          uses: Type.Optional(Type.Array(CredentialUse, { maxItems: gatekeeperLimits.usesPerUpload })),
          deviceAddresses: Type.Optional(DeviceAddresses),
        }),
      ),
      answers: { 202: data(closed({ accepted: count })) },
      errors: ['not_found', 'lease_lost'],
    },
    recordReceipt: {
      method: 'PUT',
      path: '/runs/{id}/receipt',
      summary: 'Store the receipt of a run',
      bodyBytes: gatekeeperLimits.receiptUploadBytes,
      access: 'peer',
      params: assetId,
      body: data(closed({ gatewayId: Uuid, jobId: Uuid, lease: Uuid, receipt: SignedReceipt })),
      answers: { 204: empty },
      errors: ['not_found', 'lease_lost', 'invalid_receipt', 'conflict'],
    },
    recordDevice: {
      method: 'PUT',
      path: '/gateways/{gatewayId}/devices/{assetId}',
      summary: 'Write what a device reported after a change to its asset; repeating the request has no effect',
      description: 'The sources of the fields are those of a discovery with the same link.',
      access: 'peer',
      params: closed({ gatewayId: Uuid, assetId: Uuid }),
      body: data(
        closed({
          assetLinkId: Type.String({ minLength: 1, maxLength: 256 }),
          /** The key of the report. A report with the same key is written once. */
          key: Uuid,
          asset: Type.Record(Type.String(), Type.Unknown()),
          campaign: Type.Optional(closed({ id: Uuid, name: Type.String() })),
        }),
      ),
      answers: {
        200: data(
          closed({
            assetId: Type.Optional(Type.String()),
            problem: Type.Optional(Type.String({ description: 'Why the inventory refused the report' })),
          }),
        ),
      },
      errors: ['not_found'],
    },
    ...describedRunOperations,
    endGatewayRuns: {
      method: 'POST',
      path: '/gateways/{gatewayId}/end-runs',
      summary: 'End the open runs of a revoked gateway as failed',
      access: 'peer',
      params: closed({ gatewayId: Uuid }),
      answers: { 200: data(closed({ ended: count })) },
    },
    noteRun: {
      method: 'PUT',
      path: '/runs/{id}/note',
      summary: 'Record the progress of a run',
      access: 'peer',
      params: assetId,
      body: data(
        closed({
          gatewayId: Uuid,
          jobId: Uuid,
          lease: Type.Optional(Uuid),
          isContinued: Type.Optional(Type.Boolean({ description: 'Whether the scan continues under the new lease' })),
          progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          message: Type.Optional(Type.String()),
        }),
      ),
      answers: { 204: empty },
      errors: ['not_found'],
    },
    endRun: {
      method: 'POST',
      path: '/runs/{id}/end',
      summary: 'Record the end of a run',
      access: 'peer',
      params: assetId,
      body: data(
        closed({
          gatewayId: Uuid,
          state: Type.Union([Type.Literal('finished'), Type.Literal('failed'), Type.Literal('canceled')]),
          message: Type.Optional(Type.String()),
        }),
      ),
      answers: { 200: data(closed({ state: Type.String() })) },
      errors: ['not_found'],
    },
    resolveLink: {
      method: 'GET',
      path: '/gateways/{gatewayId}/link-product',
      summary: 'Read the product of a link, for a run of the link or an asset that the link found',
      access: 'peer',
      params: gatewayId,
      query: closed({
        assetLinkId: Type.String({ minLength: 1, maxLength: 256 }),
        runId: Type.Optional(Uuid),
        assetId: Type.Optional(Uuid),
      }),
      answers: { 200: data(Type.Union([Type.Null(), closed({ identifier: Type.String(), version: Type.String() })])) },
    },
    findDevices: {
      method: 'POST',
      path: '/gateways/{gatewayId}/device-addresses',
      summary: 'Find the assets whose devices a link found at these addresses',
      access: 'peer',
      readOnly: true,
      params: gatewayId,
      body: data(
        closed({
          assetLinkId: Type.String({ minLength: 1, maxLength: 256 }),
          addresses: Type.Array(Type.String({ maxLength: 64 }), {
            minItems: 1,
            maxItems: gatekeeperLimits.addressesPerRequest,
          }),
        }),
      ),
      answers: {
        200: data(
          Type.Array(
            closed({
              address: Type.String(),
              assets: Type.Array(
                closed({
                  assetId: Uuid,
                  isOwn: Type.Boolean({ description: 'Whether the asset was found at this address first' }),
                }),
              ),
            }),
          ),
        ),
      },
    },
    listDeviceAddresses: {
      method: 'GET',
      path: '/assets/{id}/device-addresses',
      summary: 'List the addresses at which gateways found the device of an asset, oldest first',
      access: 'peer',
      params: closed({ id: Uuid }),
      answers: {
        200: data(
          Type.Array(
            closed({
              gatewayId: Uuid,
              address: Type.String(),
              isOwn: Type.Boolean({ description: 'Whether the asset was found at this address first' }),
            }),
          ),
        ),
      },
    },
    findUpdateLinks: {
      method: 'POST',
      path: '/update-links',
      summary: 'Find for each asset the running link that can install artefacts on its device',
      access: 'peer',
      readOnly: true,
      bodyBytes: inventoryLimits.batchBytes,
      body: data(closed({ assetIds: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.devices }) })),
      answers: { 200: data(Type.Array(UpdateLink, { description: 'One entry for each asset, in any order' })) },
    },
    readDeviceTarget: {
      method: 'GET',
      path: '/assets/{id}/device-target',
      summary: 'Read the addresses and identifiers of a device, for an update or a retrieval through its link',
      access: 'peer',
      params: closed({ id: Uuid }),
      query: closed({ gatewayId: Uuid, assetLinkId: Type.String({ minLength: 1, maxLength: 256 }) }),
      answers: {
        200: data(
          closed({
            addresses: Type.Array(Type.String(), {
              description: 'First the addresses at which the link found the device, then those that it reports',
            }),
            foundAddresses: Type.Array(Type.String()),
            assetIdentifiers: Type.Array(Type.Record(Type.String(), Type.Unknown())),
          }),
        ),
      },
      errors: ['not_found'],
    },
    ...monitoredDeviceOperations,
    readLinkSchemas: {
      method: 'GET',
      path: '/asset-links/{assetId}/credential-schemas',
      summary: 'Read the product of a running link, and its credential schemas',
      access: 'peer',
      params: closed({ assetId: Uuid }),
      answers: {
        200: data(
          closed({
            identifier: Type.Optional(Type.String()),
            version: Type.Optional(Type.String()),
            schemas: LinkReport.properties.credentialSchemas,
          }),
        ),
      },
      errors: ['link_not_found'],
    },
    recordLinks: {
      method: 'PUT',
      path: '/gateways/{gatewayId}/link-report',
      summary: 'Store the reported links of a gateway',
      access: 'peer',
      params: gatewayId,
      body: data(
        closed({
          gatewayVersion: Type.String(),
          links: Type.Array(LinkReport, { maxItems: gatekeeperLimits.linksPerGateway }),
          managedLinks: Type.Optional(ManagedLinks),
        }),
      ),
      answers: { 200: data(Type.Array(closed({ appInstanceId: Type.String(), assetId: Uuid }))) },
      errors: ['not_found'],
    },
  },
})
