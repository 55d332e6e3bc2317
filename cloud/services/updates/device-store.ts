import type { CampaignDevice, DeviceState, MaintenanceWindow } from '@millwright/api/updates.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { dynamicStatement, statement } from '../../platform/database/statement.ts'

/** Statements on the devices of update campaigns. */

export type DeviceRow = {
  id: string
  campaignId: string
  assetId: string
  assetName: string | null
  accessGroupId: string
  gatewayId: string | null
  assetLinkId: string | null
  linkAssetId: string | null
  fromVersion: string | null
  toVersion: string
  steps: CampaignDevice['steps']
  wave: number
  position: number
  group: string
  after: string[]
  /** The redundant assets, also those that are not devices of the campaign. */
  notWith: string[]
  windows: MaintenanceWindow[]
  state: DeviceState
  progress: number
  step: number
  attempt: number
  reason: string | null
  reportedVersion: string | null
  /** Whether the update of the device has begun in this attempt. It is false again when the device is final. */
  isStarted: boolean
  jobId: string | null
  isJobCreated: boolean
  activationAt: string | null
  cancelAt: string | null
  report: DeviceReport | null
  createdAt: string
  modifiedAt: string
}

/** What a gateway reported about a device after its activation. It is written to the asset. */
export type DeviceReport = { jobId: string; asset?: Record<string, unknown>; version?: string }

const assetColumns = `d.id, d.campaign_id as "campaignId", d.asset_id as "assetId", d.asset_name as "assetName",
  d.access_group_id as "accessGroupId"`
const planColumns = `d.gateway_id as "gatewayId", d.asset_link_id as "assetLinkId",
  d.link_asset_id as "linkAssetId", d.from_version as "fromVersion", d.to_version as "toVersion", d.steps, d.wave, d.position,
  d.group_key as "group", d.after_assets as "after", d.not_with_assets as "notWith", d.windows`
const stateColumns = `d.state, d.progress, d.step, d.attempt, d.reason, d.reported_version as "reportedVersion",
  d.is_started as "isStarted", d.job_id as "jobId", d.is_job_created as "isJobCreated", d.activation_at as "activationAt",
  d.cancel_at as "cancelAt", d.report, d.created_at as "createdAt", d.modified_at as "modifiedAt"`
const columns = `${assetColumns}, ${planColumns}, ${stateColumns}`

const finalStates = `('succeeded', 'failed', 'unknown', 'skipped', 'canceled')`

export type NewDevice = Pick<
  DeviceRow,
  | 'id'
  | 'assetId'
  | 'assetName'
  | 'accessGroupId'
  | 'gatewayId'
  | 'assetLinkId'
  | 'linkAssetId'
  | 'fromVersion'
  | 'toVersion'
  | 'steps'
  | 'wave'
  | 'position'
  | 'group'
  | 'after'
  | 'notWith'
  | 'windows'
  | 'reason'
> & { state: 'waiting' | 'skipped' }

type InsertedDevice = Omit<NewDevice, 'steps' | 'after' | 'notWith' | 'windows'> & {
  campaignId: string
  steps: string
  after: string
  notWith: string
  windows: string
  createdAt: string
}

const inserted = rowset<InsertedDevice>({
  id: 'uuid',
  campaignId: 'uuid',
  assetId: 'uuid',
  assetName: 'text',
  accessGroupId: 'uuid',
  gatewayId: 'uuid',
  assetLinkId: 'text',
  linkAssetId: 'uuid',
  fromVersion: 'text',
  toVersion: 'text',
  steps: 'json',
  wave: 'integer',
  position: 'integer',
  group: 'text',
  after: 'json',
  notWith: 'json',
  windows: 'json',
  state: 'text',
  reason: 'text',
  createdAt: 'timestamptz',
})

const insertStatement = statement<{ id: string }>(
  `insert into update_devices (tenant_id, id, campaign_id, asset_id, asset_name, access_group_id, gateway_id, asset_link_id,
     link_asset_id, from_version, to_version, steps, wave, position, group_key, after_assets, not_with_assets, windows, state, reason, is_held, created_at, modified_at)
   select $1, id, "campaignId", "assetId", "assetName", "accessGroupId", "gatewayId", "assetLinkId", "linkAssetId",
     "fromVersion", "toVersion", steps, wave, position, "group", after, "notWith", windows, state, reason,
     state = 'waiting', "createdAt", "createdAt"
   from ${inserted.rows}
   on conflict (tenant_id, asset_id) where is_held do nothing returning id`,
)

const perInsert = 1_000

const holdLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7272))`)

/** Stores devices. Returns the number of stored devices: assets that another campaign holds are left out. */
export async function insertDevices(
  tx: Transaction,
  campaignId: string,
  devices: readonly NewDevice[],
  now: string,
): Promise<number> {
  let total = 0
  await tx.run(holdLockStatement)
  for (let start = 0; start < devices.length; start += perInsert) {
    const rows = devices.slice(start, start + perInsert).map((device) => ({
      ...device,
      campaignId,
      steps: jsonText(device.steps),
      after: jsonText(device.after),
      notWith: jsonText(device.notWith),
      windows: jsonText(device.windows),
      createdAt: now,
    }))
    total += (await tx.rows(insertStatement, ...inserted.values(rows))).length
  }
  return total
}

const findByJobStatement = statement<DeviceRow>(
  `select ${columns} from update_devices d where d.tenant_id = $1 and d.job_id = $2`,
)
const lockStatement = statement<DeviceRow>(
  `select ${columns} from update_devices d where d.tenant_id = $1 and d.id = $2 for update`,
)

export function findDeviceOfJob(handle: Handle, jobId: string): Promise<DeviceRow | undefined> {
  return handle.row(findByJobStatement, jobId)
}

/** Returns a device, and locks it until the end of the transaction. */
export function lockDevice(tx: Transaction, id: string): Promise<DeviceRow | undefined> {
  return tx.row(lockStatement, id)
}

const startedStatement = statement<DeviceRow>(
  `select ${columns} from update_devices d where d.tenant_id = $1 and d.campaign_id = $2 and d.is_started order by d.id`,
)
const openStatement = statement<DeviceRow>(
  `select ${columns} from update_devices d
   where d.tenant_id = $1 and d.campaign_id = $2 and d.state not in ${finalStates} order by d.wave, d.position, d.id`,
)
const reportedStatement = statement<DeviceRow>(
  `select ${columns} from update_devices d
   where d.tenant_id = $1 and d.campaign_id = $2 and d.report is not null order by d.id limit $3`,
)

/** Returns the devices of a campaign that are being updated. */
export function listStarted(handle: Handle, campaignId: string): Promise<DeviceRow[]> {
  return handle.rows(startedStatement, campaignId)
}

const startLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7273))`)

/**
 * Makes other transactions of the tenant that start or activate devices wait until the end of this one. It must be the first
 * lock of a transaction, so that two transactions never wait for each other.
 */
export async function lockStarts(tx: Transaction): Promise<void> {
  await tx.run(startLockStatement)
}

/** A device of another campaign that is being updated. */
export type StartedElsewhere = Pick<DeviceRow, 'assetId' | 'group' | 'notWith' | 'activationAt'> & {
  campaignName: string
}

const startedElsewhereStatement = statement<StartedElsewhere>(
  `select d.asset_id as "assetId", d.group_key as "group", d.not_with_assets as "notWith",
     d.activation_at as "activationAt", c.name as "campaignName"
   from update_devices d join update_campaigns c on c.tenant_id = $1 and c.id = d.campaign_id
   where d.tenant_id = $1 and d.campaign_id <> $2 and d.is_started
     and (d.group_key = any($3::text[]) or d.asset_id = any($4::uuid[]) or d.not_with_assets::text <> '[]')
   order by d.id`,
)

/** Returns the devices of other campaigns that are being updated, and because of which one of these devices may have to wait. */
export function listStartedElsewhere(
  handle: Handle,
  campaignId: string,
  devices: readonly Pick<DeviceRow, 'group' | 'notWith'>[],
): Promise<StartedElsewhere[]> {
  const groups = [...new Set(devices.map(({ group }) => group))]
  const redundant = [...new Set(devices.flatMap(({ notWith }) => notWith))]
  return handle.rows(startedElsewhereStatement, campaignId, arrayOf('text', groups), arrayOf('uuid', redundant))
}

/** Returns the devices of a campaign that are not final. */
export function listOpen(handle: Handle, campaignId: string): Promise<DeviceRow[]> {
  return handle.rows(openStatement, campaignId)
}

/** Returns devices whose report is not written to their asset yet. */
export function listReported(handle: Handle, campaignId: string, limit: number): Promise<DeviceRow[]> {
  return handle.rows(reportedStatement, campaignId, limit)
}

const updateStatement = statement<DeviceRow>(
  `update update_devices d set state = $3, progress = $4, step = $5, attempt = $6, reason = $7, reported_version = $8,
     is_started = $9, job_id = $10, is_job_created = $11, activation_at = $12, cancel_at = $13, report = $14::json,
     access_group_id = $15, modified_at = $16
   where d.tenant_id = $1 and d.id = $2 returning ${columns}`,
)

/** The fields of a device that change while it is updated. */
export type DeviceChange = Partial<
  Pick<
    DeviceRow,
    | 'state'
    | 'progress'
    | 'step'
    | 'attempt'
    | 'reason'
    | 'reportedVersion'
    | 'isStarted'
    | 'jobId'
    | 'isJobCreated'
    | 'activationAt'
    | 'cancelAt'
    | 'report'
    | 'accessGroupId'
  >
>

/** Stores a change of a device that the transaction has locked. */
export async function updateDevice(
  tx: Transaction,
  row: DeviceRow,
  change: DeviceChange,
  now: string,
): Promise<DeviceRow> {
  const next = { ...row, ...change }
  const changed = await tx.row(
    updateStatement,
    ...[row.id, next.state, next.progress, next.step, next.attempt, next.reason, next.reportedVersion],
    ...[next.isStarted, next.jobId, next.isJobCreated, next.activationAt, next.cancelAt],
    ...[next.report === null ? null : jsonText(next.report), next.accessGroupId, now],
  )
  if (changed === undefined) throw new TypeError(`Device ${row.id} was deleted while it was changed`)
  return changed
}

const progressStatement = statement(
  `update update_devices d set state = $4, progress = $5, modified_at = $6
   where d.tenant_id = $1 and d.id = $2 and d.job_id = $3 and d.state in ('downloading', 'transferring')`,
)

/** Stores the progress of a device before it is prepared. It has no effect if the device has advanced. */
export async function setProgress(
  tx: Transaction,
  { id, jobId, state, progress }: Pick<DeviceRow, 'id' | 'jobId' | 'state' | 'progress'>,
  now: string,
): Promise<void> {
  await tx.run(progressStatement, id, jobId, state, progress, now)
}

const waitingReasonStatement = statement(
  `update update_devices d set reason = $4, modified_at = $5
   where d.tenant_id = $1 and d.campaign_id = $2 and d.id = any($3::uuid[]) and d.state = 'waiting' and not d.is_started
     and d.reason is distinct from $4`,
)

/** Stores why devices do not start. It has no effect on devices that have started in the meantime. */
export async function setWaitingReason(
  tx: Transaction,
  { campaignId, ids, reason }: { campaignId: string; ids: readonly string[]; reason: string | null },
  now: string,
): Promise<void> {
  await tx.run(waitingReasonStatement, campaignId, arrayOf('uuid', ids), reason, now)
}

const cancelWaitingStatement = statement<DeviceRow>(
  `update update_devices d set state = 'canceled', reason = $3, is_held = false, modified_at = $4
   where d.tenant_id = $1 and d.campaign_id = $2 and d.state = 'waiting' and not d.is_started returning ${columns}`,
)
const cancelStartedStatement = statement(
  `update update_devices d set cancel_at = $4, reason = $3, modified_at = $4
   where d.tenant_id = $1 and d.campaign_id = $2 and d.is_started and d.cancel_at is null`,
)

/**
 * Cancels the devices of a campaign. Devices that have not started are final at once and are returned. The executor cancels
 * the others.
 */
export async function cancelDevices(
  tx: Transaction,
  { campaignId, reason }: { campaignId: string; reason: string },
  now: string,
): Promise<DeviceRow[]> {
  await tx.run(cancelStartedStatement, campaignId, reason, now)
  return tx.rows(cancelWaitingStatement, campaignId, reason, now)
}

const releaseStatement = statement(
  `update update_devices d set is_held = false
   where d.tenant_id = $1 and d.campaign_id = $2 and d.is_held and d.state in ${finalStates}`,
)

/** Releases the assets of the final devices of an ended campaign for other campaigns. */
export async function releaseAssets(tx: Transaction, campaignId: string): Promise<void> {
  await tx.run(releaseStatement, campaignId)
}

const retryableStatement = statement<DeviceRow>(
  `select ${columns} from update_devices d
   where d.tenant_id = $1 and d.campaign_id = $2
     and (case when $3::uuid[] is null then d.state = 'failed'
          else d.state in ('failed', 'unknown', 'canceled') and d.asset_id = any($3::uuid[]) end)
   order by d.id for update`,
)
const holdStatement = statement<{ assetId: string }>(
  `select d.asset_id as "assetId" from update_devices d
   where d.tenant_id = $1 and d.is_held and d.campaign_id <> $2 and d.asset_id = any($3::uuid[]) limit 1`,
)
const retryStatement = statement(
  `update update_devices d set state = 'waiting', progress = 0, attempt = d.attempt + 1, reason = null, is_started = false,
     job_id = null, is_job_created = false, activation_at = null, cancel_at = null, is_held = true, modified_at = $3
   where d.tenant_id = $1 and d.id = any($2::uuid[])`,
)

/** Returns and locks failed devices. Unknown and canceled devices are returned only if they are named. */
export function lockRetryable(
  tx: Transaction,
  campaignId: string,
  assetIds: readonly string[] | undefined,
): Promise<DeviceRow[]> {
  return tx.rows(retryableStatement, campaignId, assetIds === undefined ? null : arrayOf('uuid', assetIds))
}

/** Returns an asset among these that another campaign holds. No other campaign holds one until the end of the transaction. */
export async function findHeldElsewhere(
  tx: Transaction,
  campaignId: string,
  assetIds: readonly string[],
): Promise<string | undefined> {
  await tx.run(holdLockStatement)
  return (await tx.row(holdStatement, campaignId, arrayOf('uuid', assetIds)))?.assetId
}

export async function retryDevices(tx: Transaction, ids: readonly string[], now: string): Promise<void> {
  await tx.run(retryStatement, arrayOf('uuid', ids), now)
}

const inCampaignsStatement = statement<{ assetId: string; campaignId: string }>(
  `select d.asset_id as "assetId", d.campaign_id as "campaignId" from update_devices d
   where d.tenant_id = $1 and d.is_held and d.asset_id = any($2::uuid[])`,
)

/** Returns those of the assets that a campaign holds, with its id. */
export async function assetsInCampaigns(handle: Handle, assetIds: readonly string[]): Promise<Map<string, string>> {
  if (assetIds.length === 0) return new Map()
  const rows = await handle.rows(inCampaignsStatement, arrayOf('uuid', assetIds))
  return new Map(rows.map(({ assetId, campaignId }) => [assetId, campaignId]))
}

const beingUpdatedStatement = statement<{ id: string }>(
  `select d.id from update_devices d where d.tenant_id = $1 and d.asset_id = $2 and d.is_held and d.is_started limit 1`,
)

/** Returns whether the device of an asset is being updated. A device that a campaign holds but has not started is not. */
export async function isBeingUpdated(handle: Handle, assetId: string): Promise<boolean> {
  return (await handle.row(beingUpdatedStatement, assetId)) !== undefined
}

const assetIdsStatement = statement<{ assetId: string }>(
  `select d.asset_id as "assetId" from update_devices d where d.tenant_id = $1 and d.campaign_id = $2`,
)
const openAssetsStatement = statement<{ assetId: string }>(
  `select d.asset_id as "assetId" from update_devices d
   where d.tenant_id = $1 and d.campaign_id = $2 and d.state not in ${finalStates}`,
)
const failedAssetsStatement = statement<{ assetId: string }>(
  `select d.asset_id as "assetId" from update_devices d
   where d.tenant_id = $1 and d.campaign_id = $2 and d.state = 'failed'`,
)

const assetStatements = { all: assetIdsStatement, open: openAssetsStatement, failed: failedAssetsStatement }

/** Returns the assets of a campaign: of all devices, of those that are not final, or of those that failed. */
export async function assetsOfCampaign(
  handle: Handle,
  campaignId: string,
  { states = 'all' }: { states?: keyof typeof assetStatements } = {},
): Promise<string[]> {
  return (await handle.rows(assetStatements[states], campaignId)).map(({ assetId }) => assetId)
}

export type DeviceFilter = {
  state?: DeviceState | undefined
  wave?: number | undefined
  reason?: string | undefined
  /** The assets that the caller can read. Undefined means all. */
  assetIds?: readonly string[] | undefined
}

function conditionsFor(campaignId: string, { state, wave, reason, assetIds }: DeviceFilter) {
  const values: unknown[] = [campaignId]
  const place = (value: unknown) => `$${values.push(value) + 1}`
  const conditions = ['d.tenant_id = $1', 'd.campaign_id = $2']
  if (state !== undefined) conditions.push(`d.state = ${place(state)}`)
  if (wave !== undefined) conditions.push(`d.wave = ${place(wave)}`)
  if (reason !== undefined) conditions.push(`d.reason = ${place(reason)}`)
  if (assetIds !== undefined) conditions.push(`d.asset_id = any(${place(arrayOf('uuid', assetIds))}::uuid[])`)
  return { where: conditions.join(' and '), values }
}

type Page = { limit: number; offset: number }

/** Returns a page of the devices of a campaign, in the order in which they are updated. */
export async function listDevices(
  handle: Handle,
  campaignId: string,
  { filter, page }: { filter: DeviceFilter; page: Page },
): Promise<{ rows: DeviceRow[]; total: number }> {
  const { where, values } = conditionsFor(campaignId, filter)
  const next = values.length + 2
  const rows = await handle.rows(
    dynamicStatement<DeviceRow>(
      `select ${columns} from update_devices d where ${where}
       order by d.wave, d.position, d.id limit $${next} offset $${next + 1}`,
    ),
    ...values,
    page.limit,
    page.offset,
  )
  const counted = await handle.row(
    dynamicStatement<{ total: number }>(`select count(*) as total from update_devices d where ${where}`),
    ...values,
  )
  return { rows, total: counted?.total ?? 0 }
}

export type FailureRow = {
  state: 'failed' | 'unknown' | 'skipped'
  reason: string
  devices: number
  assets: { id: string; name: string | null }[]
}

/** Groups the failed, unknown and skipped devices of a campaign by their reason, largest group first. */
export function groupFailures(
  handle: Handle,
  campaignId: string,
  { filter, limit, assets }: { filter: Pick<DeviceFilter, 'assetIds'>; limit: number; assets: number },
): Promise<FailureRow[]> {
  const { where, values } = conditionsFor(campaignId, filter)
  return handle.rows(
    dynamicStatement<FailureRow>(
      `select d.state, coalesce(d.reason, '') as reason, count(*) as devices,
         to_json((array_agg(json_build_object('id', d.asset_id, 'name', d.asset_name)
           order by d.wave, d.position, d.id))[1:$${values.length + 3}]) as assets
       from update_devices d
       where ${where} and d.state in ('failed', 'unknown', 'skipped')
       group by d.state, coalesce(d.reason, '') order by count(*) desc, d.state, coalesce(d.reason, '')
       limit $${values.length + 2}`,
    ),
    ...values,
    limit,
    assets,
  )
}

const historyStatement = statement<DeviceRow & { campaignName: string; artefactName: string }>(
  `select ${columns}, c.name as "campaignName", c.artefact ->> 'name' as "artefactName"
   from update_devices d join update_campaigns c on c.tenant_id = $1 and c.id = d.campaign_id
   where d.tenant_id = $1 and d.asset_id = $2 and d.state <> 'skipped' order by d.id desc limit $3`,
)

/** Returns the latest updates of an asset, newest first. */
export function listUpdatesOfAsset(handle: Handle, assetId: string, limit: number) {
  return handle.rows(historyStatement, assetId, limit)
}

const deleteStatement = statement(`delete from update_devices d where d.tenant_id = $1 and d.campaign_id = $2`)

export async function deleteDevices(tx: Transaction, campaignId: string): Promise<void> {
  await tx.run(deleteStatement, campaignId)
}
