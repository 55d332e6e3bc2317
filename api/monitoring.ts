import { type Static, Type } from 'typebox'
import { contract, empty } from './contract.ts'
import { closed, data, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { filterText, oneOf } from './inventory/shapes.ts'
import { MonitoredDevice, MonitoringTarget, monitoringLimits, ReportError } from './monitoring-shapes.ts'

export { MonitoredDevice, MonitoringTarget, monitoringLimits, ReportError } from './monitoring-shapes.ts'

const count = Type.Integer({ minimum: 0 })

const MonitoringTargets = Type.Union([
  closed({ filter: filterText }),
  closed({ assetIds: Type.Array(Uuid, { minItems: 1, maxItems: monitoringLimits.assetIds, uniqueItems: true }) }),
])
export type MonitoringTargets = Static<typeof MonitoringTargets>

const Schedule = closed({
  cron: Type.String({ minLength: 1, maxLength: 256, description: 'Five fields: minute hour day month weekday' }),
  timezone: Type.Optional(Type.String({ maxLength: 64, description: 'An IANA name; default: UTC' })),
})

const fields = {
  name: Name,
  assetLinkIds: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
    maxItems: monitoringLimits.links,
    uniqueItems: true,
    description: 'The app instance ids of the links that are used. Empty: all links that found an asset',
  }),
  targets: MonitoringTargets,
  keys: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
    maxItems: monitoringLimits.keys,
    uniqueItems: true,
    description: 'Properties that are read in addition to the fields of the asset',
  }),
  assignWorking: Type.Boolean({
    description:
      'Whether a credential that worked is assigned to its asset as a copy. Requires a template, and `glb_credential_write`',
  }),
}

const NewMonitoring = closed({
  jobType: Type.Optional(Type.Literal('MONITORING')),
  name: fields.name,
  instancesTemplateId: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: 'The instances template whose credentials are tried' }),
  ),
  assetLinkIds: Type.Optional(fields.assetLinkIds),
  targets: fields.targets,
  keys: Type.Optional(fields.keys),
  assignWorking: Type.Optional(fields.assignWorking),
  schedule: Type.Optional(Schedule),
})
export type NewMonitoring = Static<typeof NewMonitoring>

const MonitoringUpdate = closed({
  name: Type.Optional(fields.name),
  instancesTemplateId: Type.Optional(Type.Union([Uuid, Type.Null()])),
  assetLinkIds: Type.Optional(fields.assetLinkIds),
  targets: Type.Optional(fields.targets),
  keys: Type.Optional(fields.keys),
  assignWorking: Type.Optional(fields.assignWorking),
  schedule: Type.Optional(Type.Union([Schedule, Type.Null()])),
  paused: Type.Optional(Type.Boolean()),
})
export type MonitoringUpdate = Static<typeof MonitoringUpdate>

export const monitoringRunStates = ['created', 'running', 'finished', 'failed', 'canceled'] as const

const RunCounts = closed({
  targets: count,
  reached: count,
  failed: Type.Integer({ minimum: 0, description: 'Devices that did not respond' }),
  unknown: Type.Integer({
    minimum: 0,
    description: 'Devices that could not be checked, for example because their gateway is offline',
  }),
  changed: Type.Integer({ minimum: 0, description: 'Devices whose state, version or properties changed' }),
})

export const MonitoringRun = closed({
  id: Uuid,
  monitoringId: Uuid,
  number: Type.Integer({ minimum: 1 }),
  trigger: oneOf(['person', 'schedule'] as const),
  state: oneOf(monitoringRunStates),
  message: Type.Optional(Type.String()),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  counts: Type.Optional(
    Type.Unsafe<Static<typeof RunCounts>>({
      ...RunCounts,
      description: 'Absent if the caller cannot read all assets',
    }),
  ),
  jobIds: Type.Array(Uuid, { description: 'The jobs of the gateways, see /jobs/v1' }),
  createdTimestamp: Timestamp,
  startedTimestamp: Type.Optional(Timestamp),
  endedTimestamp: Type.Optional(Timestamp),
})
export type MonitoringRun = Static<typeof MonitoringRun>

export const monitoredStates = ['reached', 'failed', 'unknown'] as const
export type MonitoredState = (typeof monitoredStates)[number]

export const Monitoring = closed({
  id: Uuid,
  jobId: Type.Unsafe<string>({ ...Uuid, description: 'The same as `id`' }),
  jobType: Type.Literal('MONITORING'),
  ...fields,
  targets: Type.Union([
    closed({ filter: filterText }),
    closed({ assetIds: Type.Array(Uuid, { description: 'The targets that the caller can read' }) }),
  ]),
  instancesTemplateId: Type.Optional(Uuid),
  schedule: Type.Optional(
    closed({
      cron: Type.String(),
      timezone: Type.String(),
      paused: Type.Boolean(),
      nextRuns: Type.Array(Timestamp),
      missedRuns: Type.Integer({
        minimum: 0,
        description: 'Runs that were skipped, because the previous run had not ended',
      }),
    }),
  ),
  owner: closed(
    { id: Uuid, name: Type.String() },
    { description: 'The principal with whose rights the runs read and write assets' },
  ),
  runs: count,
  latestRun: Type.Optional(MonitoringRun),
  summary: Type.Unsafe<Static<typeof RunCounts>>({
    ...RunCounts,
    description: 'The last results of the assets that the caller can read',
  }),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type Monitoring = Static<typeof Monitoring>

const MonitoredValue = closed({
  key: Type.String(),
  value: Type.Optional(Type.Unknown()),
  problem: Type.Optional(Type.String({ description: 'Why the property could not be read' })),
  changedTimestamp: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: 'The time of the last change of the value' }),
  ),
})
export type MonitoredValue = Static<typeof MonitoredValue>

const resultFields = {
  state: oneOf(monitoredStates),
  sinceTimestamp: Type.Unsafe<string>({ ...Timestamp, description: 'The time since which the state is the same' }),
  checkedTimestamp: Type.Optional(Type.Unsafe<string>({ ...Timestamp, description: 'Absent before the first check' })),
  changed: Type.Boolean({ description: 'Whether the last check found a change' }),
  message: Type.Optional(Type.String({ description: 'Why the device was not reached, or could not be read' })),
  error: Type.Optional(
    Type.Unsafe<ReportError>({
      ...ReportError,
      description: 'Why the inventory refused what the device reported. The next run tries again',
    }),
  ),
  firmwareVersion: Type.Optional(Type.String()),
  values: Type.Array(MonitoredValue),
  gatewayId: Type.Optional(Uuid),
  assetLinkId: Type.Optional(Type.String({ description: 'The link that reached the device' })),
  instanceId: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: 'The credential instance with which the device was read' }),
  ),
}

export const MonitoringResult = closed({ assetId: Uuid, assetName: Type.Optional(Type.String()), ...resultFields })
export type MonitoringResult = Static<typeof MonitoringResult>

export const Availability = closed({
  state: Type.Unsafe<MonitoredState>({
    ...oneOf(monitoredStates),
    description: 'The current state. `unknown` also for an asset that is not monitored',
  }),
  sinceTimestamp: Type.Optional(Timestamp),
  from: Type.Unsafe<string>({ ...Timestamp, description: 'The start of the period' }),
  to: Timestamp,
  availablePercent: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'Time reached, divided by time reached or failed. Absent if the state was always unknown',
    }),
  ),
  changes: Type.Array(
    closed({
      state: oneOf(monitoredStates),
      from: Timestamp,
      to: Type.Unsafe<string>({ ...Timestamp, description: 'The end of the state, or of the period' }),
    }),
    {
      description: `The states in the period, in order of time. Times without monitoring are left out. At most ${monitoringLimits.changes}, the latest`,
    },
  ),
  results: Type.Array(closed({ monitoringId: Uuid, monitoringName: Type.String(), ...resultFields }), {
    description: 'The last result of each monitoring',
  }),
})
export type Availability = Static<typeof Availability>

const TargetCount = closed({
  matching: Type.Integer({ minimum: 0, description: 'The assets that the targets select and the caller can read' }),
  checkable: Type.Integer({
    minimum: 0,
    description: 'Those that the caller can write, and that one of the links has found',
  }),
  monitored: Type.Integer({
    minimum: 0,
    description: 'Those of the checkable assets that a monitoring checks already',
  }),
})

const UnmonitoredTargets = closed({
  assetIds: Type.Array(Uuid, {
    description: `The assets that a monitoring would check now, and that no monitoring checks yet. At most ${monitoringLimits.assetIds}`,
  }),
  total: Type.Integer({ minimum: 0, description: 'The number of all these assets' }),
})

const Coverage = closed({
  devices: Type.Integer({
    minimum: 0,
    description: 'The devices that the caller can read: `monitored` and `unmonitored` together',
  }),
  monitored: Type.Integer({
    minimum: 0,
    description: 'Those that a monitoring checks: `reached`, `failed` and `unknown` together',
  }),
  reached: count,
  failed: count,
  failedSinceTimestamp: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description: 'The time since which the device that is `failed` for the longest time is `failed`',
    }),
  ),
  unknown: Type.Integer({
    minimum: 0,
    description: 'Monitored devices without a result, or that could not be checked',
  }),
  unmonitored: count,
})
export type Coverage = Static<typeof Coverage>

const MonitoredAssetState = closed({
  assetId: Uuid,
  state: Type.Unsafe<MonitoredState>({ ...oneOf(monitoredStates), description: 'The current state' }),
  sinceTimestamp: Type.Optional(Type.Unsafe<string>({ ...Timestamp, description: 'Absent before the first check' })),
})

export const UnreachableDevice = closed({
  assetId: Uuid,
  assetName: Type.Optional(Type.String()),
  sinceTimestamp: Type.Unsafe<string>({ ...Timestamp, description: 'The time since which the device is `failed`' }),
  monitorings: Type.Array(closed({ id: Uuid, name: Type.String() }), {
    description: 'The monitorings whose last check did not reach the device, by name',
  }),
})
export type UnreachableDevice = Static<typeof UnreachableDevice>

/** The targets of a monitoring that does not exist yet. */
const TargetSelection = closed({ targets: fields.targets, assetLinkIds: Type.Optional(fields.assetLinkIds) })

const byId = closed({ id: Uuid })
const byJob = closed({ jobId: Uuid })

export const monitoring = contract({
  name: 'monitoring',
  title: 'Monitoring',
  description:
    'Monitoring of devices: read reachability, firmware and chosen properties through the links that found them, once or by schedule.',
  version: '1.0.0',
  prefix: '/monitoring/v1',
  operations: {
    createMonitoring: {
      method: 'POST',
      path: '/monitorings',
      summary: 'Monitor assets, once or by schedule',
      description:
        'Without a schedule, a run starts at once. The runs use the rights that the caller has at that time: only assets that the caller can read and write are monitored. Devices are read with the credentials of the instances template.',
      access: 'glb_discovery_run',
      body: data(NewMonitoring),
      answers: { 201: data(closed({ jobId: Uuid, id: Uuid })) },
      errors: [
        'invalid_filter',
        'unknown_property',
        'asset_not_found',
        'invalid_reference',
        'too_many_monitorings',
        'step_up_required',
      ],
    },
    countTargets: {
      method: 'POST',
      path: '/targets/count',
      summary: 'Count the assets that a monitoring would check now',
      access: 'glb_discovery_run',
      readOnly: true,
      body: data(TargetSelection),
      answers: { 200: data(TargetCount) },
      errors: ['invalid_filter', 'unknown_property', 'asset_not_found', 'too_many_targets'],
    },
    listUnmonitoredTargets: {
      method: 'POST',
      path: '/targets/unmonitored',
      summary: 'List the assets that a monitoring would check now, and that no monitoring checks yet',
      access: 'glb_discovery_run',
      readOnly: true,
      body: data(TargetSelection),
      answers: { 200: data(UnmonitoredTargets) },
      errors: ['invalid_filter', 'unknown_property', 'asset_not_found', 'too_many_targets'],
    },
    listMonitorings: {
      method: 'GET',
      path: '/monitorings',
      summary: 'List monitorings by name, with their latest run',
      access: 'glb_jobs_read',
      query: closed({ ...pageQuery, scheduled: Type.Optional(Type.Boolean()) }),
      answers: { 200: page(Monitoring) },
    },
    readMonitoring: {
      method: 'GET',
      path: '/monitorings/{id}',
      summary: 'Read a monitoring with its latest run',
      access: 'glb_jobs_read',
      params: byId,
      tagged: true,
      answers: { 200: data(Monitoring) },
      errors: ['not_found'],
    },
    updateMonitoring: {
      method: 'PATCH',
      path: '/monitorings/{id}',
      summary: 'Change the targets, properties, credentials or schedule of future runs; pause and resume',
      description:
        'A caller that changes more than the name, the schedule or the pause becomes the owner. The runs then use the rights of the new owner.',
      access: 'glb_discovery_run',
      params: byId,
      headers: ['if-match'],
      body: data(MonitoringUpdate),
      answers: { 200: data(Monitoring) },
      errors: [
        'not_found',
        'invalid_filter',
        'unknown_property',
        'asset_not_found',
        'invalid_reference',
        'conflict',
        'precondition_failed',
        'step_up_required',
      ],
    },
    deleteMonitoring: {
      method: 'DELETE',
      path: '/monitorings/{id}',
      summary: 'Delete a monitoring with its schedule and results; cancels a current run',
      access: 'glb_discovery_run',
      params: byId,
      headers: ['if-match'],
      answers: { 204: empty },
      errors: ['not_found', 'precondition_failed'],
    },
    runMonitoring: {
      method: 'POST',
      path: '/monitorings/{id}/run',
      summary: 'Run a monitoring now',
      access: 'glb_discovery_run',
      params: byId,
      answers: { 202: data(closed({ runId: Uuid })) },
      errors: ['not_found', 'conflict'],
    },
    cancelMonitoring: {
      method: 'POST',
      path: '/monitorings/{id}/cancel',
      summary: 'Cancel the current run; results that are stored stay',
      access: 'glb_discovery_run',
      params: byId,
      answers: { 202: data(closed({ runId: Uuid })) },
      errors: ['not_found', 'conflict'],
    },
    listMonitoringRuns: {
      method: 'GET',
      path: '/monitorings/{id}/runs',
      summary: 'List the runs of a monitoring, newest first',
      description: `A monitoring keeps its last ${monitoringLimits.runs} runs.`,
      access: 'glb_jobs_read',
      params: byId,
      query: closed(pageQuery),
      answers: { 200: page(MonitoringRun) },
      errors: ['not_found'],
    },
    listMonitoringResults: {
      method: 'GET',
      path: '/monitorings/{id}/results',
      summary: 'List the last result of each asset: unreachable assets first, then changed ones, then by name',
      access: 'glb_jobs_read',
      params: byId,
      query: closed({
        ...pageQuery,
        state: Type.Optional(oneOf(monitoredStates)),
        changed: Type.Optional(Type.Boolean({ description: 'Only results with, or without, a change' })),
      }),
      answers: { 200: page(MonitoringResult) },
      errors: ['not_found'],
    },
    readAvailability: {
      method: 'GET',
      path: '/assets/{id}/availability',
      summary: 'Read the state of an asset, its availability in the last days, and its last results',
      access: 'inventory_read_asset_data',
      params: byId,
      query: closed({
        days: Type.Optional(Type.Integer({ minimum: 1, maximum: monitoringLimits.availabilityDays, default: 30 })),
      }),
      answers: { 200: data(Availability) },
      errors: ['not_found'],
    },
    readCoverage: {
      method: 'GET',
      path: '/coverage',
      summary: 'Count the devices that are monitored, by state, and those that are not',
      description:
        'Counts only devices that the caller can read. If several monitorings check a device, its newest result counts.',
      access: 'inventory_read_asset_data',
      answers: { 200: data(Coverage) },
    },
    listUnreachableDevices: {
      method: 'GET',
      path: '/assets/unreachable',
      summary: 'List the unreachable devices, latest outage first',
      description:
        'Lists the devices that `GET /monitoring/v1/coverage` counts as `failed`: the newest result of all monitorings counts, and only devices that the caller can read are listed.',
      access: 'inventory_read_asset_data',
      query: closed(pageQuery),
      answers: { 200: page(UnreachableDevice) },
    },
    listMonitoredAssets: {
      method: 'GET',
      path: '/assets/monitored',
      summary: 'List the monitored assets, for a service. It must leave out those that the caller cannot read',
      access: 'on-behalf',
      answers: {
        200: data(
          closed({
            checked: Type.String({
              description: 'The ids of the assets with a result in their last check, 16 bytes each, as base64',
            }),
            unchecked: Type.String({
              description: 'The same for the assets without a result, or that could not be checked',
            }),
          }),
        ),
      },
    },
    listMonitoredStates: {
      method: 'POST',
      path: '/assets/states',
      summary: 'Read the states of assets. Assets that are not monitored, or that the caller cannot read, are left out',
      access: 'inventory_read_asset_data',
      readOnly: true,
      body: data(
        closed({
          assetIds: Type.Array(Uuid, { minItems: 1, maxItems: monitoringLimits.states, uniqueItems: true }),
        }),
      ),
      answers: { 200: data(Type.Array(MonitoredAssetState)) },
    },
    listRunTargets: {
      method: 'POST',
      path: '/jobs/{jobId}/targets',
      summary: 'The next targets of a job without a result, in order of their assets',
      access: 'peer',
      params: byJob,
      body: data(
        closed({
          gatewayId: Uuid,
          after: Type.Optional(Uuid),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: monitoringLimits.targetsPerPage })),
        }),
      ),
      answers: { 200: data(Type.Array(MonitoringTarget)) },
    },
    recordRunResults: {
      method: 'POST',
      path: '/jobs/{jobId}/results',
      summary: 'Store the results of devices; repeating the request has no effect',
      access: 'peer',
      bodyBytes: monitoringLimits.resultBytes,
      params: byJob,
      body: data(
        closed({
          gatewayId: Uuid,
          results: Type.Array(MonitoredDevice, { minItems: 1, maxItems: monitoringLimits.targetsPerPage }),
        }),
      ),
      answers: { 200: data(closed({ isOpen: Type.Boolean({ description: 'False if the run has ended' }) })) },
    },
    findRunTargets: {
      method: 'POST',
      path: '/jobs/{jobId}/credential-targets',
      summary: 'Those of the assets that a job reads through a link, and the template of their credentials',
      access: 'peer',
      readOnly: true,
      params: byJob,
      body: data(
        closed({
          gatewayId: Uuid,
          assetLinkId: Type.String({ minLength: 1, maxLength: 256 }),
          assetIds: Type.Array(Uuid, { maxItems: monitoringLimits.credentialTargets }),
        }),
      ),
      answers: { 200: data(closed({ instancesTemplateId: Type.Optional(Uuid), assetIds: Type.Array(Uuid) })) },
    },
  },
})
