import type { DeviceAddress, DeviceError } from '@millwright/api/gatekeeper.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { jsonText, storableText } from '../../platform/database/json.ts'
import { rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'
import type { CredentialUses } from './credential-uses.ts'
import type { Comparison } from './store.ts'

export type Outcome = 'new' | 'changed' | 'unchanged' | 'gone'
export type Finding = { assetId: string; name: string | null; outcome: Outcome }
/** A finding of a report. `lastRun` and `lastFoundAt` are set for a device that is gone: the run that last found it. */
export type ReportedFinding = Finding & { lastRun: number | null; lastFoundAt: string | null }

export type Upload = {
  assets: Record<string, unknown>[]
  errors: DeviceError[]
  tried?: CredentialUses
  deviceAddresses?: DeviceAddress[]
}
export type UploadKey = { runId: string; lease: string; sequence: number }

const insertUploadStatement = statement(
  `insert into discovery_uploads (tenant_id, run_id, lease, sequence, id, payload) values ($1, $2, $3, $4, $5, $6)
   on conflict (tenant_id, run_id, lease, sequence) do nothing`,
)

/** Inserts an upload as JSON text. Returns false when the same upload was already inserted. */
export async function insertUpload(
  tx: Transaction,
  { runId, lease, sequence }: UploadKey,
  printed: string,
): Promise<boolean> {
  return (await tx.run(insertUploadStatement, runId, lease, sequence, newId(), printed)) > 0
}

export const nextUploadStatement = statement<{ id: string; lease: string; sequence: number }>(
  `select id, lease, sequence from discovery_uploads
   where tenant_id = $1 and run_id = $2 and payload is not null and id > $3 order by id limit 1`,
)
const everything = '00000000-0000-0000-0000-000000000000'

/** Returns the next upload to ingest: the first upload after the upload `after`, or the first upload of the run. */
export async function nextUpload(
  handle: Handle,
  runId: string,
  after: string = everything,
): Promise<(UploadKey & { id: string }) | undefined> {
  const row = await handle.row(nextUploadStatement, runId, after)
  return row === undefined ? undefined : { runId, ...row }
}

const payloadStatement = statement<{ payload: string }>(
  `select payload from discovery_uploads
   where tenant_id = $1 and run_id = $2 and lease = $3 and sequence = $4 and payload is not null`,
)

export async function findUpload(handle: Handle, { runId, lease, sequence }: UploadKey): Promise<Upload | undefined> {
  const row = await handle.row(payloadStatement, runId, lease, sequence)
  return row === undefined ? undefined : (JSON.parse(row.payload) as Upload)
}

const ingestedStatement = statement(
  `update discovery_uploads set payload = null
   where tenant_id = $1 and run_id = $2 and lease = $3 and sequence = $4 and payload is not null`,
)

/** Marks an upload as ingested. Returns false when another process has ingested it in the meantime. */
export async function markIngested(tx: Transaction, { runId, lease, sequence }: UploadKey): Promise<boolean> {
  return (await tx.run(ingestedStatement, runId, lease, sequence)) > 0
}

const found = rowset<Finding & { runId: string }>({ runId: 'uuid', assetId: 'uuid', name: 'text', outcome: 'text' })
const putFindingsStatement = statement<{ outcome: Outcome }>(
  `insert into discovery_findings (tenant_id, run_id, asset_id, name, outcome)
   select $1, "runId", "assetId", name, outcome from ${found.rows}
   on conflict (tenant_id, run_id, asset_id) do nothing
   returning outcome`,
)

/**
 * Stores findings. An asset that this run already found is not stored again. Returns the number of new rows by outcome.
 */
export async function putFindings(tx: Transaction, runId: string, findings: readonly Finding[]) {
  const distinctFindings = onceEach(findings).map((finding) => ({ ...finding, runId }))
  const rows =
    distinctFindings.length === 0 ? [] : await tx.rows(putFindingsStatement, ...found.values(distinctFindings))
  const count = (outcome: Outcome) => rows.filter((row) => row.outcome === outcome).length
  return { created: count('new'), updated: count('changed'), unchanged: count('unchanged') }
}

const bySignificance: readonly Outcome[] = ['new', 'changed', 'unchanged', 'gone']

/** Returns one finding for each asset: the finding with the most significant outcome. */
function onceEach(findings: readonly Finding[]): Finding[] {
  const best = new Map<string, Finding>()
  for (const finding of findings) {
    const before = best.get(finding.assetId)
    if (before === undefined || bySignificance.indexOf(finding.outcome) < bySignificance.indexOf(before.outcome)) {
      best.set(finding.assetId, finding)
    }
  }
  return [...best.values()]
}

const insertErrorsStatement = statement(
  `insert into discovery_errors (tenant_id, run_id, id, code, description, reason, device, fields)
   select $1, $2, id, code, description, reason, device, fields
   from json_to_recordset($3::json) as r (id uuid, code integer, description text, reason text, device json, fields json)
   returning id`,
)

export async function insertErrors(tx: Transaction, runId: string, errors: readonly DeviceError[]): Promise<void> {
  if (errors.length === 0) return
  const rows = errors.map((error) => ({ id: newId(), ...error, description: storableText(error.description) }))
  await tx.run(insertErrorsStatement, runId, jsonText(rows))
}

/**
 * The candidates: the devices that the run $3 found or reported as gone, and that the run $2 did not find. A device that is gone keeps
 * the number of the run that last found it. A finding of an older version has no such number, so its own comparison states it.
 * Another scan can find a device after its last run here, for example because the device moved to another subnet. Such a device is not
 * gone. The ids of runs are in the order of their creation.
 */
const candidatesStatement = statement<Candidate>(
  `select b.asset_id as "assetId", b.name,
     case when b.outcome = 'gone' then coalesce(b.last_run, p.compared_run, p.number) else p.number end as "lastRun"
   from discovery_findings b join discovery_runs p on p.tenant_id = $1 and p.id = b.run_id
   where b.tenant_id = $1 and b.run_id = $3
     and not exists (select from discovery_findings n
       where n.tenant_id = $1 and n.run_id = $2 and n.asset_id = b.asset_id)
     and b.asset_id <> all ($4::uuid[])
     and not exists (select from discovery_runs o
       join discovery_findings f on f.tenant_id = $1 and f.run_id = o.id and f.asset_id = b.asset_id and f.outcome <> 'gone'
       where o.tenant_id = $1 and o.discovery_id <> p.discovery_id
         and o.id > case when b.outcome = 'gone' then b.run_id else $2 end)`,
)
type Candidate = { assetId: string; name: string | null; lastRun: number }

const gone = rowset<Candidate & { runId: string }>({ runId: 'uuid', assetId: 'uuid', name: 'text', lastRun: 'integer' })
const putGoneStatement = statement<{ lastRun: number }>(
  `insert into discovery_findings (tenant_id, run_id, asset_id, name, outcome, last_run)
   select $1, "runId", "assetId", name, 'gone', "lastRun" from ${gone.rows}
   on conflict (tenant_id, run_id, asset_id) do nothing
   returning last_run as "lastRun"`,
)
export const previousRunStatement = statement<{ id: string; number: number }>(
  `select p.id, p.number from discovery_runs p where p.tenant_id = $1 and p.discovery_id = $2 and p.number < $3
     and p.state = 'finished' and (p.scope -> 'filters')::text is not distinct from
       (select (r.scope -> 'filters')::text from discovery_runs r where r.tenant_id = $1 and r.id = $4)
   order by p.number desc limit 1`,
)

type EndedRun = { runId: string; discoveryId: string; number: number }
/** The assets that a run did not find, and the number of the run with which it was compared, or null if there is none. */
export type GoneAssets = { comparedRun: number | null; assets: readonly Candidate[] }

/**
 * Returns the assets that an earlier run found and this run did not find. Runs with other filters search another part of the network,
 * so they do not count. Leaves out the assets in `answered`: their devices responded, but the inventory refused them.
 */
export async function listGoneAssets(
  handle: Handle,
  { runId, discoveryId, number }: EndedRun,
  answered: readonly string[],
): Promise<GoneAssets> {
  const before = await handle.row(previousRunStatement, discoveryId, number, runId)
  if (before === undefined) return { comparedRun: null, assets: [] }
  return { comparedRun: before.number, assets: await handle.rows(candidatesStatement, runId, before.id, answered) }
}

/** Records assets as gone. An asset that the run has found in the meantime is left out. */
export async function putGoneAssets(
  tx: Transaction,
  runId: string,
  { comparedRun, assets }: GoneAssets,
): Promise<Comparison> {
  const rows = assets.map((asset) => ({ ...asset, runId }))
  const stored = rows.length === 0 ? [] : await tx.rows(putGoneStatement, ...gone.values(rows))
  return { gone: stored.length, newlyGone: stored.filter(({ lastRun }) => lastRun === comparedRun).length, comparedRun }
}

const reportedColumns = `f.asset_id as "assetId", f.name, f.outcome, p.number as "lastRun", p.ended_at as "lastFoundAt"`
const reportedRows = `discovery_findings f
   join discovery_runs r on r.tenant_id = $1 and r.id = f.run_id
   left join discovery_runs p on p.tenant_id = $1 and p.discovery_id = r.discovery_id and f.outcome = 'gone'
     and p.number = coalesce(f.last_run, r.compared_run)`

export const listFindingsStatement = statement<ReportedFinding>(
  `select ${reportedColumns} from ${reportedRows}
   where f.tenant_id = $1 and f.run_id = $2 order by f.asset_id limit $3 offset $4`,
)
export const listFindingsByOutcomeStatement = statement<ReportedFinding>(
  `select ${reportedColumns} from ${reportedRows}
   where f.tenant_id = $1 and f.run_id = $2 and f.outcome = $3 order by f.asset_id limit $4 offset $5`,
)
const listFindingsAmongStatement = statement<ReportedFinding>(
  `select ${reportedColumns} from ${reportedRows}
   where f.tenant_id = $1 and f.run_id = $2 and f.outcome = coalesce($3, f.outcome) and f.asset_id = any($4::uuid[])
   order by f.asset_id limit $5 offset $6`,
)

type Paging = { limit: number; offset: number }
type FindingSelection = {
  runId: string
  outcome: Outcome | undefined
  /** Selects only these assets. `undefined` selects all assets. */
  among: readonly string[] | undefined
}

export function listFindings(
  handle: Handle,
  { runId, outcome, among }: FindingSelection,
  { limit, offset }: Paging,
): Promise<ReportedFinding[]> {
  if (among !== undefined) return handle.rows(listFindingsAmongStatement, runId, outcome ?? null, among, limit, offset)
  return outcome === undefined
    ? handle.rows(listFindingsStatement, runId, limit, offset)
    : handle.rows(listFindingsByOutcomeStatement, runId, outcome, limit, offset)
}

const foundAssetsStatement = statement<{ assetId: string }>(
  `select distinct asset_id as "assetId" from discovery_findings where tenant_id = $1 and run_id = any($2::uuid[])`,
)

/** Returns the assets that these runs found or reported as gone, without duplicates. */
export async function listFoundAssets(handle: Handle, runIds: readonly string[]): Promise<string[]> {
  return (await handle.rows(foundAssetsStatement, runIds)).map(({ assetId }) => assetId)
}

type FindingCount = { runId: string; outcome: Outcome; lastRun: number | null; count: number }
const countFindingsStatement = statement<FindingCount>(
  `select run_id as "runId", outcome, last_run as "lastRun", count(*) from discovery_findings
   where tenant_id = $1 and run_id = any($2::uuid[]) and asset_id = any($3::uuid[]) group by run_id, outcome, last_run`,
)

/** Counts, for each run, outcome and last run, the findings that refer to one of these assets. */
export function countFindings(handle: Handle, runIds: readonly string[], assetIds: readonly string[]) {
  return handle.rows(countFindingsStatement, runIds, assetIds)
}

type ErrorRow = {
  code: number
  description: string
  reason: string | null
  device: Record<string, unknown> | null
  fields: DeviceError['fields'] | null
}

export const listErrorsStatement = statement<ErrorRow>(
  `select code, description, reason, device, fields from discovery_errors
   where tenant_id = $1 and run_id = $2 order by id limit $3 offset $4`,
)

export async function listErrors(handle: Handle, runId: string, { limit, offset }: Paging): Promise<DeviceError[]> {
  const rows = await handle.rows(listErrorsStatement, runId, limit, offset)
  return rows.map(({ code, description, reason, device, fields }) => ({
    code,
    description,
    ...(reason === null ? {} : { reason }),
    ...(device === null ? {} : { device }),
    ...(fields === null || fields === undefined ? {} : { fields }),
  }))
}

type ErrorCauseRow = { runId: string; code: number; reason: string | null; count: number }
const countErrorsStatement = statement<ErrorCauseRow>(
  `select run_id as "runId", code, reason, count(*) from discovery_errors
   where tenant_id = $1 and run_id = any($2::uuid[]) group by run_id, code, reason order by count(*) desc, code, reason`,
)

/** Counts, for each run, the errors by code and reason, the most frequent first. */
export async function countErrors(handle: Handle, runIds: readonly string[]): Promise<ErrorCauseRow[]> {
  return runIds.length === 0 ? [] : handle.rows(countErrorsStatement, runIds)
}
