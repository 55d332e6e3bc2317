import type {
  ArtefactKind,
  Campaign,
  CampaignState,
  CampaignTargets,
  DeviceState,
  MaintenanceWindow,
  Wave,
} from '@millwright/api/updates.ts'
import type { Caller, PrincipalKind } from '../../platform/access/caller.ts'
import { type StoredPrincipal, storedPrincipal } from '../../platform/access/current-caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { dynamicStatement, statement } from '../../platform/database/statement.ts'

/** Statements on update campaigns. */

export type CampaignRow = {
  id: string
  name: string
  artefactId: string
  artefact: { name: string; version: string; kind: ArtefactKind }
  targets: CampaignTargets
  waves: Wave[]
  stopOnFailurePercent: number
  window: MaintenanceWindow | null
  approval: Campaign['approval']
  concurrentDevices: number
  verifyMinutes: number
  allowsDowngrade: boolean
  state: CampaignState
  stateReason: string | null
  /** The number of failed devices that a resumed campaign accepts, by wave. */
  tolerated: Record<string, number>
  jobId: string | null
  reported: string | null
  createdById: string
  createdByName: string
  approvedById: string | null
  approvedByName: string | null
  /** The person who started the campaign. */
  principalId: string | null
  principalKind: PrincipalKind | null
  principalName: string | null
  roles: StoredPrincipal['roles'] | null
  changes: number
  createdAt: string
  startedAt: string | null
  finishedAt: string | null
  modifiedAt: string
}

const draftColumns = `c.id, c.name, c.artefact_id as "artefactId", c.artefact, c.targets, c.waves,
  c.stop_on_failure_percent as "stopOnFailurePercent", c.maintenance_window as "window", c.approval,
  c.concurrent_devices as "concurrentDevices", c.verify_minutes as "verifyMinutes",
  c.allows_downgrade as "allowsDowngrade"`
const stateColumns = `c.state, c.state_reason as "stateReason", c.tolerated, c.job_id as "jobId", c.reported, c.changes`
const personColumns = `c.created_by_id as "createdById", c.created_by_name as "createdByName",
  c.approved_by_id as "approvedById", c.approved_by_name as "approvedByName", c.principal_id as "principalId",
  c.principal_kind as "principalKind", c.principal_name as "principalName", c.roles`
const timeColumns = `c.created_at as "createdAt", c.started_at as "startedAt", c.finished_at as "finishedAt",
  c.modified_at as "modifiedAt"`
const columns = `${draftColumns}, ${stateColumns}, ${personColumns}, ${timeColumns}`

export type CampaignDraft = Pick<
  CampaignRow,
  | 'name'
  | 'targets'
  | 'waves'
  | 'stopOnFailurePercent'
  | 'window'
  | 'approval'
  | 'concurrentDevices'
  | 'verifyMinutes'
  | 'allowsDowngrade'
>

function draftValues(draft: CampaignDraft): unknown[] {
  const { name, targets, waves, stopOnFailurePercent, window, approval } = draft
  const { concurrentDevices, verifyMinutes, allowsDowngrade } = draft
  const windowText = window === null ? null : jsonText(window)
  return [
    ...[name, jsonText(targets), jsonText(waves), stopOnFailurePercent, windowText, approval],
    ...[concurrentDevices, verifyMinutes, allowsDowngrade],
  ]
}

const insertStatement = statement<CampaignRow>(
  `insert into update_campaigns as c (tenant_id, id, artefact_id, artefact, created_by_id, created_by_name, created_at,
     modified_at, state, tolerated, name, targets, waves, stop_on_failure_percent, maintenance_window, approval,
     concurrent_devices, verify_minutes, allows_downgrade)
   values ($1, $2, $3, $4::json, $5, $6, $7, $7, 'draft', '{}', $8, $9::json, $10::json, $11, $12::json, $13, $14, $15, $16)
   returning ${columns}`,
)

export type NewCampaign = CampaignDraft & Pick<CampaignRow, 'id' | 'artefactId' | 'artefact'>

export async function insertCampaign(
  tx: Transaction,
  { principal }: Pick<Caller, 'principal'>,
  campaign: NewCampaign,
  now: string,
): Promise<CampaignRow> {
  const { id, artefactId, artefact } = campaign
  const own = [id, artefactId, jsonText(artefact), principal.id, principal.name, now]
  const row = await tx.row(insertStatement, ...own, ...draftValues(campaign))
  if (row === undefined) throw new TypeError('A campaign was not stored')
  return row
}

const changeStatement = statement<CampaignRow>(
  `update update_campaigns c set modified_at = $3, name = $4, targets = $5::json, waves = $6::json,
     stop_on_failure_percent = $7, maintenance_window = $8::json, approval = $9, concurrent_devices = $10,
     verify_minutes = $11, allows_downgrade = $12, changes = c.changes + 1
   where c.tenant_id = $1 and c.id = $2 and c.state = 'draft' returning ${columns}`,
)

/** Changes a draft. Returns undefined if the campaign is no longer a draft. */
export function changeDraft(tx: Transaction, id: string, draft: CampaignDraft, now: string) {
  return tx.row(changeStatement, id, now, ...draftValues(draft))
}

const findStatement = statement<CampaignRow>(
  `select ${columns} from update_campaigns c where c.tenant_id = $1 and c.id = $2`,
)
const lockStatement = statement<CampaignRow>(
  `select ${columns} from update_campaigns c where c.tenant_id = $1 and c.id = $2 for update`,
)
const shareStatement = statement<{ state: CampaignState }>(
  `select c.state from update_campaigns c where c.tenant_id = $1 and c.id = $2 for share`,
)

export function findCampaign(handle: Handle, id: string): Promise<CampaignRow | undefined> {
  return handle.row(findStatement, id)
}

/** Returns a campaign, and locks it until the end of the transaction. */
export function lockCampaign(tx: Transaction, id: string): Promise<CampaignRow | undefined> {
  return tx.row(lockStatement, id)
}

/** Returns the state of a campaign. No other transaction changes it until the end of this one. */
export async function lockState(tx: Transaction, id: string): Promise<CampaignState | undefined> {
  return (await tx.row(shareStatement, id))?.state
}

/** The condition of a campaign that has not ended. */
const isOpenState = `c.state in ('draft', 'pending-approval', 'running', 'paused', 'stopped')`

const openLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7271))`)
const countOpenStatement = statement<{ total: number }>(
  `select count(*) as total from update_campaigns c
   where c.tenant_id = $1 and ${isOpenState}`,
)

/** Returns the number of campaigns that have not ended. Other transactions that count them wait until the end of this one. */
export async function countOpen(tx: Transaction): Promise<number> {
  await tx.run(openLockStatement)
  return (await tx.row(countOpenStatement))?.total ?? 0
}

type Listing = {
  state?: CampaignState | undefined
  /** Whether to return the campaigns that have not ended, or those that have. Undefined means all. */
  isOpen?: boolean | undefined
  artefactId?: string | undefined
  page: { limit: number; offset: number }
}

/** Returns a page of campaigns, newest first. */
export async function listCampaigns(
  handle: Handle,
  { state, isOpen, artefactId, page }: Listing,
): Promise<{ rows: CampaignRow[]; total: number }> {
  const values: unknown[] = []
  const conditions = ['c.tenant_id = $1']
  if (state !== undefined) conditions.push(`c.state = $${values.push(state) + 1}`)
  if (isOpen !== undefined) conditions.push(isOpen ? isOpenState : `not (${isOpenState})`)
  if (artefactId !== undefined) conditions.push(`c.artefact_id = $${values.push(artefactId) + 1}`)
  const where = conditions.join(' and ')
  const next = values.length + 2
  const rows = await handle.rows(
    dynamicStatement<CampaignRow>(
      `select ${columns} from update_campaigns c where ${where} order by c.id desc limit $${next} offset $${next + 1}`,
    ),
    ...values,
    page.limit,
    page.offset,
  )
  const counted = await handle.row(
    dynamicStatement<{ total: number }>(`select count(*) as total from update_campaigns c where ${where}`),
    ...values,
  )
  return { rows, total: counted?.total ?? 0 }
}

const startStatement = statement<CampaignRow>(
  `update update_campaigns c set state = $3, principal_id = $4, principal_kind = $5, principal_name = $6, roles = $7::json,
     job_id = $8, started_at = $9, modified_at = $9, due_at = $9, changes = c.changes + 1
   where c.tenant_id = $1 and c.id = $2 returning ${columns}`,
)

type Start = { state: 'running' | 'pending-approval'; jobId: string; now: string }

/** Starts a draft. The caller is the person in whose name the devices are updated. */
export async function startCampaign(
  tx: Transaction,
  caller: Caller,
  id: string,
  { state, jobId, now }: Start,
): Promise<CampaignRow> {
  const { principalId, principalKind, principalName, roles } = storedPrincipal(caller)
  const person = [principalId, principalKind, principalName, jsonText(roles)]
  return stored(await tx.row(startStatement, id, state, ...person, jobId, now), id)
}

const stateStatement = statement<CampaignRow>(
  `update update_campaigns c set state = $3, state_reason = $4, tolerated = $5::json, job_id = $6, finished_at = $7,
     approved_by_id = coalesce($8, c.approved_by_id), approved_by_name = coalesce($9, c.approved_by_name),
     modified_at = $10, due_at = $10, changes = c.changes + 1
   where c.tenant_id = $1 and c.id = $2 returning ${columns}`,
)

export type StateChange = {
  state: CampaignState
  stateReason?: string | undefined
  tolerated?: Record<string, number>
  /** Set for a finished campaign that runs again, because its former job has ended. */
  jobId?: string
  finishedAt?: string | null
  approvedBy?: { id: string; name: string }
}

/** Changes the state of a campaign, and makes the executor continue it. */
export async function setState(
  tx: Transaction,
  row: CampaignRow,
  change: StateChange,
  now: string,
): Promise<CampaignRow> {
  const { state, stateReason = null, tolerated = row.tolerated, jobId = row.jobId, approvedBy } = change
  const finishedAt = change.finishedAt === undefined ? row.finishedAt : change.finishedAt
  const approval = [approvedBy?.id ?? null, approvedBy?.name ?? null]
  const values = [state, stateReason, jsonText(tolerated), jobId, finishedAt, ...approval, now]
  return stored(await tx.row(stateStatement, row.id, ...values), row.id)
}

function stored(row: CampaignRow | undefined, id: string): CampaignRow {
  if (row === undefined) throw new TypeError(`Campaign ${id} was deleted while it was changed`)
  return row
}

const touchStatement = statement(
  `update update_campaigns c set changes = c.changes + 1, due_at = $3 where c.tenant_id = $1 and c.id = $2`,
)

/** Makes the executor continue a campaign now, because one of its devices has changed. */
export async function touchCampaign(tx: Transaction, id: string, now: string): Promise<void> {
  await tx.run(touchStatement, id, now)
}

/** Returns a row if a campaign is due. */
export const anyDue = statement(
  `select c.id from update_campaigns c where c.tenant_id = $1 and c.due_at <= now() limit 1`,
)

const dueStatement = statement<{ id: string }>(
  `select c.id from update_campaigns c where c.tenant_id = $1 and c.due_at <= $2 order by c.due_at, c.id limit $3`,
)

export async function listDue(handle: Handle, now: string, limit: number): Promise<string[]> {
  return (await handle.rows(dueStatement, now, limit)).map(({ id }) => id)
}

const postponeStatement = statement(`update update_campaigns c set due_at = $3 where c.tenant_id = $1 and c.id = $2`)

/** Stores when the executor continues a campaign after an error. */
export async function postpone(tx: Transaction, id: string, dueAt: string): Promise<void> {
  await tx.run(postponeStatement, id, dueAt)
}

const scheduleStatement = statement(
  `update update_campaigns c set due_at = $4, state_reason = $5
   where c.tenant_id = $1 and c.id = $2 and c.changes = $3`,
)

/**
 * Stores when the executor continues a campaign, and why the campaign waits. It has no effect if the campaign has changed
 * since the executor read it: the campaign then stays due.
 */
export async function scheduleNext(
  tx: Transaction,
  { id, changes }: Pick<CampaignRow, 'id' | 'changes'>,
  { dueAt, stateReason }: { dueAt: string | null; stateReason: string | null },
): Promise<void> {
  await tx.run(scheduleStatement, id, changes, dueAt, stateReason)
}

const reportedStatement = statement(`update update_campaigns c set reported = $3 where c.tenant_id = $1 and c.id = $2`)

export async function setReported(tx: Transaction, id: string, reported: string): Promise<void> {
  await tx.run(reportedStatement, id, reported)
}

const deleteStatement = statement(`delete from update_campaigns c where c.tenant_id = $1 and c.id = $2`)

export async function deleteCampaign(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}

const usesStatement = statement<{ name: string }>(
  `select c.name from update_campaigns c
   where c.tenant_id = $1 and ${isOpenState}
     and (c.artefact_id = $2 or exists (select from update_devices d where d.tenant_id = $1 and d.campaign_id = c.id
       and position($2::text in d.steps::text) > 0))
   order by c.id limit 1`,
)

/** Returns the name of a campaign that has not ended and installs an artefact, also as a step to another version. */
export async function findUseOfArtefact(handle: Handle, artefactId: string): Promise<string | undefined> {
  return (await handle.row(usesStatement, artefactId))?.name
}

/** Returns a row if an ended campaign is older than the retention. */
export const anyExpired = statement(
  `select c.id from update_campaigns c where c.tenant_id = $1 and c.finished_at < now() - interval '730 days' limit 1`,
)
const expiredStatement = statement<{ id: string }>(
  `select c.id from update_campaigns c where c.tenant_id = $1 and c.finished_at < $2 order by c.finished_at limit 1`,
)

export async function nextExpired(handle: Handle, before: string): Promise<string | undefined> {
  return (await handle.row(expiredStatement, before))?.id
}

/** The number of devices of a campaign, by wave and state. */
export type StateCount = { campaignId: string; wave: number; state: DeviceState; devices: number }

const countsStatement = statement<StateCount>(
  `select d.campaign_id as "campaignId", d.wave, d.state, count(*) as devices from update_devices d
   where d.tenant_id = $1 and d.campaign_id = any($2::uuid[])
   group by d.campaign_id, d.wave, d.state order by d.wave`,
)
const visibleCountsStatement = statement<StateCount>(
  `select d.campaign_id as "campaignId", d.wave, d.state, count(*) as devices from update_devices d
   where d.tenant_id = $1 and d.campaign_id = any($2::uuid[]) and d.access_group_id = any($3::uuid[])
   group by d.campaign_id, d.wave, d.state order by d.wave`,
)

/** Counts the devices of campaigns. `accessGroups` limits them to the groups that assets had at the start. */
export function countDevices(
  handle: Handle,
  campaignIds: readonly string[],
  accessGroups: readonly string[] | null,
): Promise<StateCount[]> {
  if (campaignIds.length === 0) return Promise.resolve([])
  return accessGroups === null
    ? handle.rows(countsStatement, campaignIds)
    : handle.rows(visibleCountsStatement, campaignIds, accessGroups)
}
