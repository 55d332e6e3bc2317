import { type CredentialPurpose, secretPlaceholder } from '@millwright/api/credentials-shapes.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { dynamicStatement, statement } from '../../platform/database/statement.ts'
import type { PlainObject } from '../../platform/plain-object.ts'

export type InstanceRow = {
  id: string
  schemaId: string
  schemaUri: string
  resourceIdentifier: string
  resourceVersion: string
  schemaTitle: string | null
  name: string
  shown: PlainObject
  ipRanges: string[]
  purpose: CredentialPurpose | null
  assetId: string | null
  copiedFrom: string | null
  version: number
  createdBy: string
  createdAt: string
  modifiedBy: string
  modifiedAt: string
}
export type SealedRow = InstanceRow & { sealed: Buffer }

const schemaColumns = `s.uri as "schemaUri", s.title as "schemaTitle", s.resource_identifier as "resourceIdentifier",
  s.resource_version as "resourceVersion"`
export const instanceColumns = `i.id, i.schema_id as "schemaId", ${schemaColumns}, i.name, i.shown,
  i.ip_ranges as "ipRanges", i.purpose, i.asset_id as "assetId", i.copied_from as "copiedFrom", i.version,
  i.created_by as "createdBy", i.created_at as "createdAt", i.modified_by as "modifiedBy", i.modified_at as "modifiedAt"`
export const fromInstances = `from credential_instances i
  join credential_schemas s on s.tenant_id = $1 and s.id = i.schema_id`

const insertStatement = statement<{ id: string }>(
  `insert into credential_instances (tenant_id, id, schema_id, name, shown, sealed, ip_ranges, purpose, asset_id,
     copied_from, created_by, modified_by)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11) on conflict do nothing returning id`,
)

type NewRow = Pick<
  SealedRow,
  'id' | 'schemaId' | 'name' | 'shown' | 'sealed' | 'ipRanges' | 'purpose' | 'assetId' | 'copiedFrom' | 'createdBy'
>

/** Inserts an instance. Returns false when the asset already has a copy of the original instance. */
export async function insertInstance(tx: Transaction, row: NewRow): Promise<boolean> {
  const { id, schemaId, name, shown, sealed, ipRanges, purpose, assetId, copiedFrom, createdBy } = row
  const made = await tx.row(
    insertStatement,
    id,
    schemaId,
    name,
    jsonText(shown),
    sealed,
    jsonText(ipRanges),
    purpose,
    assetId,
    copiedFrom,
    createdBy,
  )
  return made !== undefined
}

const findStatement = statement<InstanceRow>(
  `select ${instanceColumns} ${fromInstances} where i.tenant_id = $1 and i.id = $2`,
)
const lockStatement = statement<SealedRow>(
  `select ${instanceColumns}, i.sealed ${fromInstances} where i.tenant_id = $1 and i.id = $2 for update of i`,
)
const holdStatement = statement<SealedRow>(
  `select ${instanceColumns}, i.sealed ${fromInstances} where i.tenant_id = $1 and i.id = any($2::uuid[]) for key share of i`,
)
const findManyStatement = statement<InstanceRow>(
  `select ${instanceColumns} ${fromInstances} where i.tenant_id = $1 and i.id = any($2::uuid[])`,
)
const copyStatement = statement<InstanceRow>(
  `select ${instanceColumns} ${fromInstances} where i.tenant_id = $1 and i.asset_id = $2 and i.copied_from = $3`,
)

export function findInstance(handle: Handle, id: string): Promise<InstanceRow | undefined> {
  return handle.row(findStatement, id)
}

export function findInstances(handle: Handle, ids: readonly string[]): Promise<InstanceRow[]> {
  return ids.length === 0 ? Promise.resolve([]) : handle.rows(findManyStatement, arrayOf('uuid', ids))
}

export function lockInstance(tx: Transaction, id: string): Promise<SealedRow | undefined> {
  return tx.row(lockStatement, id)
}

/** Returns the instances that exist and prevents their deletion until the end of the transaction. */
export function holdInstances(tx: Transaction, ids: readonly string[]): Promise<SealedRow[]> {
  return ids.length === 0 ? Promise.resolve([]) : tx.rows(holdStatement, arrayOf('uuid', ids))
}

export function findCopy(handle: Handle, assetId: string, original: string): Promise<InstanceRow | undefined> {
  return handle.row(copyStatement, assetId, original)
}

export type InstanceFilter = {
  schemaId?: string
  resourceIdentifier?: string
  purpose?: CredentialPurpose
  name?: string
  /** A part of the name, the title of the schema, an address range or a shown value. */
  q?: string
  assigned?: boolean
  /** The asset to which a copy is assigned. */
  assetId?: string
  /** Keys of address blocks. An instance matches if one of its blocks is in this list. */
  blocks?: readonly string[]
}

/** Builds only the conditions of the requested filters, so that PostgreSQL can use the matching index. */
function conditionsFor({ schemaId, resourceIdentifier, purpose, name, q, assigned, assetId, blocks }: InstanceFilter) {
  const values: unknown[] = []
  const conditions = ['i.tenant_id = $1']
  const add = (condition: (place: string) => string, value: unknown) => {
    values.push(value)
    conditions.push(condition(`$${values.length + 1}`))
  }
  if (schemaId !== undefined) add((place) => `i.schema_id = ${place}`, schemaId)
  if (resourceIdentifier !== undefined) add((place) => `s.resource_identifier = ${place}`, resourceIdentifier)
  if (purpose !== undefined) add((place) => `(i.purpose is null or i.purpose = ${place})`, purpose)
  if (name !== undefined) add((place) => `i.name = ${place}`, name)
  if (q !== undefined)
    add((place) => {
      const has = (text: string) => `strpos(lower(${text}), lower(${place}::text)) > 0`
      // The place of a secret in the shown values has a placeholder. Names of fields are not searched.
      const values = `exists (select from json_each_text(i.shown) as v where v.value <> '${secretPlaceholder}' and ${has('v.value')})`
      return `(${has('i.name')} or ${has(`coalesce(s.title, '')`)} or ${has('i.ip_ranges::text')} or ${values})`
    }, q)
  if (assigned !== undefined) conditions.push(`i.asset_id is ${assigned ? 'not ' : ''}null`)
  if (assetId !== undefined) add((place) => `i.asset_id = ${place}`, assetId)
  if (blocks !== undefined)
    add(
      (place) => `i.id in (select p.instance_id from credential_places p
        where p.tenant_id = $1 and p.block = any(${place}::text[]))`,
      arrayOf('text', blocks),
    )
  return { where: conditions.join(' and '), values }
}

export async function listInstances(
  handle: Handle,
  filter: InstanceFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: InstanceRow[]; total: number }> {
  const { where, values } = conditionsFor(filter)
  const next = values.length + 2
  const rows = await handle.rows(
    dynamicStatement<InstanceRow>(
      `select ${instanceColumns} ${fromInstances} where ${where}
       order by i.modified_at desc, i.id desc limit $${next} offset $${next + 1}`,
    ),
    ...values,
    limit,
    offset,
  )
  const counted = await handle.row(
    dynamicStatement<{ total: number }>(`select count(*) as total ${fromInstances} where ${where}`),
    ...values,
  )
  return { rows, total: counted?.total ?? 0 }
}

const updateStatement = statement(
  `update credential_instances set name = $3, shown = $4, sealed = $5, ip_ranges = $6, purpose = $7, asset_id = $8,
     modified_by = $9, version = version + 1, modified_at = now()
   where tenant_id = $1 and id = $2`,
)

export async function updateInstance(
  tx: Transaction,
  row: Pick<SealedRow, 'id' | 'name' | 'shown' | 'sealed' | 'ipRanges' | 'purpose' | 'assetId' | 'modifiedBy'>,
): Promise<void> {
  const { id, name, shown, sealed, ipRanges, purpose, assetId, modifiedBy } = row
  await tx.run(updateStatement, id, name, jsonText(shown), sealed, jsonText(ipRanges), purpose, assetId, modifiedBy)
}

const deleteStatement = statement(`delete from credential_instances where tenant_id = $1 and id = $2`)

export async function deleteInstance(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}

export type VersionRow = {
  version: number
  change: 'created' | 'copied' | 'updated' | 'mapped'
  fields: string[]
  changedBy: string
  changedAt: string
}

const addVersionStatement = statement(
  `insert into credential_history (tenant_id, instance_id, version, change, fields, changed_by)
   values ($1, $2, $3, $4, $5::text[], $6)`,
)

export async function addVersion(
  tx: Transaction,
  instanceId: string,
  { version, change, fields, changedBy }: Omit<VersionRow, 'changedAt'>,
): Promise<void> {
  await tx.run(addVersionStatement, instanceId, version, change, arrayOf('text', fields), changedBy)
}

const versionsStatement = statement<VersionRow>(
  `select version, change, fields, changed_by as "changedBy", changed_at as "changedAt" from credential_history
   where tenant_id = $1 and instance_id = $2 order by version desc limit $3 offset $4`,
)

export function listVersions(
  handle: Handle,
  instanceId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<VersionRow[]> {
  return handle.rows(versionsStatement, instanceId, limit, offset)
}

const copiesStatement = statement<{ instanceId: string; assetId: string }>(
  `select id as "instanceId", asset_id as "assetId" from credential_instances
   where tenant_id = $1 and copied_from = $2 order by id desc limit $3`,
)

export function copiesOf(handle: Handle, id: string, limit: number) {
  return handle.rows(copiesStatement, id, limit)
}
