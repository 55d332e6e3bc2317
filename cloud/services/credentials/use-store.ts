import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

export type UseRow = {
  instanceId: string
  gatewayId: string
  address: string
  assetId: string | null
  deliveries: number
  jobId: string
  deliveredAt: string
  workedAt: string | null
  failedAt: string | null
}

const columns = `instance_id as "instanceId", gateway_id as "gatewayId", address, asset_id as "assetId", deliveries,
  job_id as "jobId", delivered_at as "deliveredAt", worked_at as "workedAt", failed_at as "failedAt"`

/** The times of the last successful and of the last failed login with an instance. */
export type Record = { instanceId: string; workedAt: string | null; failedAt: string | null }

const lastTimes = `max(worked_at) as "workedAt", max(failed_at) as "failedAt"`
const atAddressesStatement = statement<Record & { address: string }>(
  `select instance_id as "instanceId", address, worked_at as "workedAt", failed_at as "failedAt" from credential_uses
   where tenant_id = $1 and gateway_id = $2 and address = any($3::text[]) and worked_at is not null`,
)
const ofAssetsStatement = statement<Record & { assetId: string }>(
  `select instance_id as "instanceId", asset_id as "assetId", ${lastTimes} from credential_uses
   where tenant_id = $1 and asset_id = any($2::uuid[]) and worked_at is not null group by asset_id, instance_id`,
)
const copiesStatement = statement<{ id: string; assetId: string }>(
  `select id, asset_id as "assetId" from credential_instances
   where tenant_id = $1 and asset_id = any($2::uuid[]) order by id desc`,
)
const ofInstancesStatement = statement<Record>(
  `select instance_id as "instanceId", ${lastTimes} from credential_uses
   where tenant_id = $1 and instance_id = any($2::uuid[]) group by instance_id`,
)

const failuresStatement = statement<Record & { address: string }>(
  `select instance_id as "instanceId", address, worked_at as "workedAt", failed_at as "failedAt" from credential_uses
   where tenant_id = $1 and gateway_id = $2 and instance_id = any($3::uuid[]) and address = any($4::text[])
     and failed_at > $5::timestamptz`,
)

type Failures = { gatewayId: string; instanceIds: readonly string[]; addresses: readonly string[]; since: string }

/** Returns the instances with which a login failed since a time, for each address. */
export async function findFailures(
  handle: Handle,
  { gatewayId, instanceIds, addresses, since }: Failures,
): Promise<Map<string, Record[]>> {
  if (instanceIds.length === 0) return new Map()
  const [ids, places] = [arrayOf('uuid', instanceIds), arrayOf('text', addresses)]
  const rows = await handle.rows(failuresStatement, gatewayId, ids, places, since)
  return Map.groupBy(rows, ({ address }) => address)
}

type Device = { address: string; assetIds: readonly string[] }

/**
 * Returns the credential instances of each device: the copies that are assigned to its assets, and the instances with
 * which a login succeeded at its address or at one of its assets.
 */
export async function findAssociated(
  handle: Handle,
  gatewayId: string,
  devices: readonly Device[],
): Promise<Map<string, Record>[]> {
  const addresses = [...new Set(devices.map(({ address }) => address))]
  const rows = await handle.rows(atAddressesStatement, gatewayId, arrayOf('text', addresses))
  const atAddress = Map.groupBy(rows, ({ address }) => address)
  const ofAsset = await recordsOfAssets(handle, [...new Set(devices.flatMap(({ assetIds }) => assetIds))])
  return devices.map(({ address, assetIds }) =>
    latestOf([...assetIds.flatMap((id) => ofAsset.get(id) ?? []), ...(atAddress.get(address) ?? [])]),
  )
}

async function recordsOfAssets(handle: Handle, assetIds: readonly string[]): Promise<Map<string, Record[]>> {
  if (assetIds.length === 0) return new Map()
  const opened = await handle.rows(ofAssetsStatement, arrayOf('uuid', assetIds))
  const copies = await copiesForAssets(handle, assetIds)
  const ids = copies.map(({ id }) => id)
  const used = ids.length === 0 ? [] : await handle.rows(ofInstancesStatement, arrayOf('uuid', ids))
  const usedById = new Map(used.map((record) => [record.instanceId, record]))
  const ofCopies = copies.map(({ id, assetId }) => ({
    instanceId: id,
    workedAt: usedById.get(id)?.workedAt ?? null,
    failedAt: usedById.get(id)?.failedAt ?? null,
    assetId,
  }))
  return Map.groupBy([...ofCopies, ...opened], ({ assetId }) => assetId)
}

/** Returns the copies that are assigned to assets, newest first. */
export function copiesForAssets(handle: Handle, assetIds: readonly string[]) {
  return handle.rows(copiesStatement, arrayOf('uuid', assetIds))
}

function latestOf(records: readonly Record[]): Map<string, Record> {
  const latest = new Map<string, Record>()
  for (const record of records) {
    const before = latest.get(record.instanceId)
    latest.set(record.instanceId, {
      instanceId: record.instanceId,
      workedAt: later(before?.workedAt, record.workedAt),
      failedAt: later(before?.failedAt, record.failedAt),
    })
  }
  return latest
}

function later(a: string | null | undefined, b: string | null): string | null {
  return (a ?? '') > (b ?? '') ? (a ?? null) : b
}

const deliveredStatement = statement(
  `insert into credential_uses (tenant_id, gateway_id, job_id, instance_id, address)
   select $1, $2, $3, d.instance_id, d.address from unnest($4::uuid[], $5::text[]) as d (instance_id, address)
   on conflict (tenant_id, instance_id, gateway_id, address) do update
   set deliveries = credential_uses.deliveries + 1, job_id = excluded.job_id, delivered_at = excluded.delivered_at`,
)

export type DeliveredInstance = { instanceId: string; address: string }

type Delivery = { gatewayId: string; jobId: string; instances: readonly DeliveredInstance[] }

/**
 * Records deliveries. The instances must be unique and sorted in the order in which `lockUses` locks rows, to avoid
 * deadlocks.
 */
export async function recordDelivery(tx: Transaction, { gatewayId, jobId, instances }: Delivery): Promise<void> {
  const ids = instances.map(({ instanceId }) => instanceId)
  const addresses = instances.map(({ address }) => address)
  await tx.run(deliveredStatement, gatewayId, jobId, arrayOf('uuid', ids), arrayOf('text', addresses))
}

const lockStatement = statement<UseRow>(
  `select ${columns} from credential_uses where tenant_id = $1 and gateway_id = $2 and instance_id = any($3::uuid[])
   and address = any($4::text[]) order by instance_id, address for update`,
)

/** Locks the records of deliveries of these instances to a gateway for these addresses, and returns the records. */
export function lockUses(tx: Transaction, gatewayId: string, uses: readonly DeliveredInstance[]): Promise<UseRow[]> {
  const ids = uses.map(({ instanceId }) => instanceId)
  const addresses = uses.map(({ address }) => address)
  return tx.rows(lockStatement, gatewayId, arrayOf('uuid', ids), arrayOf('text', addresses))
}

export type Outcome = {
  gatewayId: string
  instanceId: string
  address: string
  assetId: string | null
  /** The number of times the instance gave access to the device. */
  successes: number
  failures: number
}

const outcomes = rowset<Pick<Outcome, 'gatewayId' | 'instanceId' | 'address' | 'assetId'>>({
  gatewayId: 'uuid',
  instanceId: 'uuid',
  address: 'text',
  assetId: 'uuid',
})

/** A distributed database refuses `now()` in `case`, so successes and failures are stored with two statements. */
function outcomeStatement(column: 'worked_at' | 'failed_at') {
  return statement(
    `update credential_uses u set asset_id = coalesce(r."assetId", u.asset_id), ${column} = now()
     from ${outcomes.rows}
     where u.tenant_id = $1 and u.gateway_id = r."gatewayId" and u.instance_id = r."instanceId" and u.address = r.address`,
  )
}
const successStatement = outcomeStatement('worked_at')
const failureStatement = outcomeStatement('failed_at')

/**
 * Records successes and failures with the clock of the database, because the selection of credentials compares these
 * times with the time of the last change of an instance.
 */
export async function recordOutcomes(tx: Transaction, rows: readonly Outcome[]): Promise<void> {
  const successes = rows.filter((row) => row.successes > 0)
  const failures = rows.filter((row) => row.failures > 0)
  if (successes.length > 0) await tx.run(successStatement, ...outcomes.values(successes))
  if (failures.length > 0) await tx.run(failureStatement, ...outcomes.values(failures))
}

const lastStatement = statement<UseRow>(
  `select ${columns} from credential_uses where tenant_id = $1 and instance_id = $2 order by delivered_at desc limit $3`,
)
const workedStatement = statement<UseRow>(
  `select ${columns} from credential_uses where tenant_id = $1 and instance_id = $2 and worked_at is not null
   order by worked_at desc limit $3`,
)
const ofAssetStatement = statement<UseRow>(
  `select ${columns} from credential_uses where tenant_id = $1 and asset_id = $2 and worked_at is not null
   order by worked_at desc limit $3`,
)

export function lastDeliveries(handle: Handle, instanceId: string, limit: number): Promise<UseRow[]> {
  return handle.rows(lastStatement, instanceId, limit)
}

export function lastSuccesses(handle: Handle, instanceId: string, limit: number): Promise<UseRow[]> {
  return handle.rows(workedStatement, instanceId, limit)
}

type RefusalRow = Pick<UseRow, 'instanceId' | 'gatewayId' | 'address' | 'assetId'> & { name: string; failedAt: string }

const isRefused = `failed_at is not null and (worked_at is null or failed_at > worked_at)`
/** The order of refusals. All refusals of one report have the same time, so the time alone would not select the same ones each time. */
const newestRefusals = `order by failed_at desc, gateway_id, address`
const refusedStatement = statement<UseRow>(
  `select ${columns} from credential_uses where tenant_id = $1 and instance_id = $2 and ${isRefused}
   ${newestRefusals} limit $3`,
)
const refusedAtStatement = statement<RefusalRow>(
  `select u.instance_id as "instanceId", u.gateway_id as "gatewayId", u.address, u.asset_id as "assetId", u.failed_at as "failedAt", i.name
   from credential_uses u
   join credential_instances i on i.tenant_id = $1 and i.id = u.instance_id
   join credential_schemas s on s.tenant_id = $1 and s.id = i.schema_id
   where u.tenant_id = $1 and u.gateway_id = $2 and u.address = any($3::text[]) and ${isRefused}
     and s.resource_identifier = $4
   order by u.failed_at desc, u.instance_id limit $5`,
)

/** Returns the uses at which the latest login with an instance failed, newest first. */
export function lastRefusals(handle: Handle, instanceId: string, limit: number): Promise<UseRow[]> {
  return handle.rows(refusedStatement, instanceId, limit)
}

type RefusalQuery = { gatewayId: string; addresses: readonly string[]; identifier: string; limit: number }

/** Returns the uses at addresses at which the latest login failed, with the names of the instances, newest first. */
export function refusalsAt(handle: Handle, { gatewayId, addresses, identifier, limit }: RefusalQuery) {
  return handle.rows(refusedAtStatement, gatewayId, arrayOf('text', addresses), identifier, limit)
}

export function usesOfAsset(handle: Handle, assetId: string, limit: number): Promise<UseRow[]> {
  return handle.rows(ofAssetStatement, assetId, limit)
}

/** The readable gateways and assets of uses. `undefined` means all. */
export type UseScope = { gateways: readonly string[]; assets: readonly string[] } | undefined

/** The numbers of addresses by the result of the latest login with an instance, and the times of the latest results. */
export type LoginRow = Record & { accepted: number; refused: number; refusedWithOther: number }

const loginColumns = `instance_id as "instanceId", ${lastTimes},
  count(distinct address) filter (where worked_at is not null and (failed_at is null or worked_at >= failed_at)) as accepted,
  count(distinct address) filter (where ${isRefused}) as refused`
const ofAllUses = `from credential_uses where tenant_id = $1 and instance_id = any($2::uuid[])`
const loginsStatement = statement<LoginRow>(loginsText({ own: '', other: '' }))
const readableLoginsStatement = statement<LoginRow>(
  loginsText({
    own: `and gateway_id = any($3::uuid[]) and (asset_id is null or asset_id = any($4::uuid[]))`,
    other: `where a.asset_id is null or a.asset_id = any($4::uuid[])`,
  }),
)

/** Returns the query of the uses of other instances of the same asset link that the devices of these refused uses accept. */
function acceptedText(refused: string): string {
  return `select u.instance_id, u.gateway_id, u.address, o.asset_id
   from (${refused}) u
   join credential_instances i on i.tenant_id = $1 and i.id = u.instance_id
   join credential_schemas s on s.tenant_id = $1 and s.id = i.schema_id
   join credential_uses o on o.tenant_id = $1 and o.gateway_id = u.gateway_id and o.address = u.address
     and o.instance_id <> u.instance_id and o.worked_at is not null
     and (o.failed_at is null or o.worked_at >= o.failed_at)
   join credential_instances p on p.tenant_id = $1 and p.id = o.instance_id
   join credential_schemas t on t.tenant_id = $1 and t.id = p.schema_id and t.resource_identifier = s.resource_identifier`
}

/** Returns the query of the results of logins. `own` and `other` limit the uses of the instances and of the other instances. */
function loginsText({ own, other }: { own: string; other: string }): string {
  return `select l.*, coalesce(w.addresses, 0)::integer as "refusedWithOther"
   from (select ${loginColumns} ${ofAllUses} ${own} group by instance_id) l
   left join (
     select a.instance_id, count(distinct a.address) as addresses
     from (${acceptedText(`select instance_id, gateway_id, address ${ofAllUses} ${own} and ${isRefused}`)}) a
     ${other} group by a.instance_id
   ) w on w.instance_id = l."instanceId"`
}

/** Returns the results of the logins with instances. Instances that no gateway has received are left out. */
export function summarizeLogins(handle: Handle, instanceIds: readonly string[], scope: UseScope): Promise<LoginRow[]> {
  if (instanceIds.length === 0) return Promise.resolve([])
  const ids = arrayOf('uuid', instanceIds)
  if (scope === undefined) return handle.rows(loginsStatement, ids)
  return handle.rows(readableLoginsStatement, ids, arrayOf('uuid', scope.gateways), arrayOf('uuid', scope.assets))
}

type AcceptedUse = { gatewayId: string; address: string; assetId: string | null }

const othersStatement = statement<AcceptedUse>(
  `select a.gateway_id as "gatewayId", a.address, a.asset_id as "assetId"
   from (${acceptedText(`select instance_id, gateway_id, address, failed_at from credential_uses
     where tenant_id = $1 and instance_id = $2 and ${isRefused} ${newestRefusals} limit $3`)}) a`,
)

/** Returns the uses of other instances that the devices of `lastRefusals` accept. */
export function acceptedOthers(handle: Handle, instanceId: string, limit: number): Promise<AcceptedUse[]> {
  return handle.rows(othersStatement, instanceId, limit)
}

const placesStatement = statement<{ gatewayId: string; assetId: string | null }>(
  `select distinct gateway_id as "gatewayId", asset_id as "assetId" ${ofAllUses}`,
)

/** Returns the gateways and assets at which instances were used. */
export function placesOfUses(handle: Handle, instanceIds: readonly string[]) {
  return handle.rows(placesStatement, arrayOf('uuid', instanceIds))
}

const atAddressStatement = statement<UseRow>(
  `select ${columns} ${ofAllUses} and address = $3 order by delivered_at desc`,
)

/** Returns the uses of instances at an address by the gateway that received credentials for the address last. */
export async function usesAtAddress(
  handle: Handle,
  instanceIds: readonly string[],
  address: string,
): Promise<UseRow[]> {
  const rows = await handle.rows(atAddressStatement, arrayOf('uuid', instanceIds), address)
  return rows.filter(({ gatewayId }) => gatewayId === rows[0]?.gatewayId)
}
