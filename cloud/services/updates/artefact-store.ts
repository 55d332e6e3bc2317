import type { Artefact, ArtefactKind, SignatureFormat, SignatureState } from '@millwright/api/updates.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on artefacts. */

export type ArtefactRow = {
  id: string
  name: string
  manufacturer: string
  products: string[]
  hardwareVersions: string[] | null
  requires: NonNullable<Artefact['requires']> | null
  releaseNotes: string | null
  version: string
  kind: ArtefactKind
  sha256: string
  size: number
  isComplete: boolean
  signature: string | null
  signatureFormat: SignatureFormat | null
  signatureState: SignatureState
  signatureDetail: string | null
  signer: string | null
  trustAnchorId: string | null
  /** The end of the validity of the certificates that confirm the signature. */
  signatureExpiresAt: string | null
  sourceAssetId: string | null
  sourceAccessGroupId: string | null
  createdById: string
  createdByName: string
  createdAt: string
  modifiedAt: string
  /** The stored bytes of an upload that is not complete. */
  receivedBytes: number | null
}

const signatureColumns = `a.signature, a.signature_format as "signatureFormat", a.signature_state as "signatureState",
  a.signature_detail as "signatureDetail", a.signer, a.trust_anchor_id as "trustAnchorId",
  a.signature_expires_at as "signatureExpiresAt"`
const contentColumns = `a.sha256, a.size, a.is_complete as "isComplete", u.received_bytes as "receivedBytes"`
const originColumns = `a.source_asset_id as "sourceAssetId", a.source_access_group_id as "sourceAccessGroupId",
  a.created_by_id as "createdById", a.created_by_name as "createdByName", a.created_at as "createdAt",
  a.modified_at as "modifiedAt"`
const columns = `a.id, a.name, a.manufacturer, a.products, a.hardware_versions as "hardwareVersions", a.requires,
  a.release_notes as "releaseNotes", a.version, a.kind, ${contentColumns}, ${signatureColumns}, ${originColumns}`
const source = `artefacts a left join artefact_uploads u on u.tenant_id = $1 and u.id = a.id`

const insertStatement = statement(
  `insert into artefacts (tenant_id, id, name, manufacturer, products, hardware_versions, requires, release_notes, version,
     kind, sha256, size, is_complete, signature, signature_format, signature_state, source_asset_id, source_access_group_id,
     created_by_id, created_by_name, created_at, modified_at)
   values ($1, $2, $3, $4, $5::json, $6::json, $7::json, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
     $21, $21)`,
)

export type NewArtefact = Omit<
  ArtefactRow,
  'signatureDetail' | 'signer' | 'trustAnchorId' | 'signatureExpiresAt' | 'createdAt' | 'modifiedAt' | 'receivedBytes'
>

export async function insertArtefact(tx: Transaction, row: NewArtefact, now: string): Promise<void> {
  const optionalJson = (value: unknown) => (value === null ? null : jsonText(value))
  await tx.run(
    insertStatement,
    row.id,
    row.name,
    row.manufacturer,
    jsonText(row.products),
    optionalJson(row.hardwareVersions),
    optionalJson(row.requires),
    row.releaseNotes,
    row.version,
    row.kind,
    row.sha256,
    row.size,
    row.isComplete,
    row.signature,
    row.signatureFormat,
    row.signatureState,
    row.sourceAssetId,
    row.sourceAccessGroupId,
    row.createdById,
    row.createdByName,
    now,
  )
}

const countStatement = statement<{ total: number }>(`select count(*) as total from artefacts a where a.tenant_id = $1`)
const countLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7268))`)

/** Returns the number of artefacts. Other transactions that count them wait until the end of this one. */
export async function countArtefacts(tx: Transaction): Promise<number> {
  await tx.run(countLockStatement)
  return (await tx.row(countStatement))?.total ?? 0
}

const findStatement = statement<ArtefactRow>(`select ${columns} from ${source} where a.tenant_id = $1 and a.id = $2`)
const lockStatement = statement<ArtefactRow>(
  `select ${columns} from ${source} where a.tenant_id = $1 and a.id = $2 for update of a`,
)

export function findArtefact(handle: Handle, id: string): Promise<ArtefactRow | undefined> {
  return handle.row(findStatement, id)
}

/** Returns an artefact, and locks it until the end of the transaction. */
export function lockArtefact(tx: Transaction, id: string): Promise<ArtefactRow | undefined> {
  return tx.row(lockStatement, id)
}

const visibleContentStatement = statement(
  `select from artefacts a where a.tenant_id = $1 and a.sha256 = $2 and a.is_complete
   and (a.source_asset_id is null or $3::uuid[] is null or a.source_access_group_id = any($3::uuid[])) limit 1`,
)

/** Returns whether the caller can see an artefact with this content. */
export async function hasVisibleContent(
  handle: Handle,
  { sha256, accessGroups }: { sha256: string; accessGroups: ArtefactFilter['accessGroups'] },
): Promise<boolean> {
  const groups = accessGroups === 'all' ? null : accessGroups
  return (await handle.row(visibleContentStatement, sha256, groups)) !== undefined
}

const amongStatement = statement<ArtefactRow>(
  `select ${columns} from ${source} where a.tenant_id = $1 and a.id = any($2::uuid[])`,
)

export function listArtefactsAmong(handle: Handle, ids: readonly string[]): Promise<ArtefactRow[]> {
  return handle.rows(amongStatement, ids)
}

const filter = `a.tenant_id = $1 and ($2::text is null or a.kind = $2)
  and ($3::text is null or lower(a.manufacturer) = lower($3))
  and ($4::text is null or exists (select from json_array_elements_text(a.products) as p where lower(p) = lower($4)))
  and ($5::text is null or position(lower($5) in lower(a.name || ' ' || a.version || ' ' || a.products::text)) > 0)
  and (a.source_asset_id is null or $6::uuid[] is null or a.source_access_group_id = any($6::uuid[]))`
const listStatement = statement<ArtefactRow>(
  `select ${columns} from ${source} where ${filter} order by a.id desc limit $7 offset $8`,
)
const countListedStatement = statement<{ total: number }>(`select count(*) as total from artefacts a where ${filter}`)

export type ArtefactFilter = {
  kind: ArtefactKind | undefined
  manufacturer: string | undefined
  product: string | undefined
  text: string | undefined
  /** The access groups whose assets the caller can read. Artefacts that were read from other assets are left out. */
  accessGroups: 'all' | readonly string[]
}

export async function listArtefacts(
  handle: Handle,
  { kind, manufacturer, product, text, accessGroups }: ArtefactFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: ArtefactRow[]; total: number }> {
  const groups = accessGroups === 'all' ? null : accessGroups
  const values = [kind ?? null, manufacturer ?? null, product ?? null, text ?? null, groups]
  const rows = await handle.rows(listStatement, ...values, limit, offset)
  return { rows, total: (await handle.row(countListedStatement, ...values))?.total ?? 0 }
}

const forManufacturerStatement = statement<ArtefactRow>(
  `select ${columns} from ${source}
   where a.tenant_id = $1 and lower(a.manufacturer) = lower($2) and ($3::text is null or a.kind = $3) and a.is_complete
   order by a.id desc`,
)

/** Returns the artefacts of a manufacturer with complete content, newest first. `isUsable` decides which can be installed. */
export function artefactsFor(
  handle: Handle,
  { manufacturer, kind }: { manufacturer: string; kind?: ArtefactKind },
): Promise<ArtefactRow[]> {
  return handle.rows(forManufacturerStatement, manufacturer, kind ?? null)
}

const firmwareStatement = statement<ArtefactRow>(
  `select ${columns} from ${source}
   where a.tenant_id = $1 and a.kind = 'firmware' and a.is_complete and a.source_asset_id is null order by a.id desc`,
)

/** Returns all firmware with complete content. A tenant has at most `updateLimits.artefacts` artefacts. */
export function listUsableFirmware(handle: Handle): Promise<ArtefactRow[]> {
  return handle.rows(firmwareStatement)
}

const describeStatement = statement(
  `update artefacts a set name = $3, products = $4::json, hardware_versions = $5::json, requires = $6::json,
     release_notes = $7, modified_at = $8
   where a.tenant_id = $1 and a.id = $2`,
)

export type ArtefactDescription = Pick<
  ArtefactRow,
  'name' | 'products' | 'hardwareVersions' | 'requires' | 'releaseNotes'
>

export async function describeArtefact(
  tx: Transaction,
  id: string,
  { name, products, hardwareVersions, requires, releaseNotes }: ArtefactDescription,
  now: string,
): Promise<void> {
  const versions = hardwareVersions === null ? null : jsonText(hardwareVersions)
  const requirements = requires === null ? null : jsonText(requires)
  await tx.run(describeStatement, id, name, jsonText(products), versions, requirements, releaseNotes, now)
}

const deleteStatement = statement(`delete from artefacts a where a.tenant_id = $1 and a.id = $2`)

export async function deleteArtefact(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}

const completeStatement = statement<{ id: string }>(
  `update artefacts a set is_complete = true, modified_at = $4
   where a.tenant_id = $1 and a.sha256 = $2 and a.size = $3 and not a.is_complete returning a.id`,
)

/** Marks all artefacts with this content as complete. Returns their ids. */
export async function completeArtefacts(
  tx: Transaction,
  { sha256, size }: { sha256: string; size: number },
  now: string,
): Promise<string[]> {
  return (await tx.rows(completeStatement, sha256, size, now)).map(({ id }) => id)
}

const signatureTextStatement = statement(
  `update artefacts a set signature = $3, signature_format = $4, modified_at = $5 where a.tenant_id = $1 and a.id = $2`,
)

export async function setSignature(
  tx: Transaction,
  id: string,
  { signature, format }: { signature: string; format: SignatureFormat },
  now: string,
): Promise<void> {
  await tx.run(signatureTextStatement, id, signature, format, now)
}

const signatureStateStatement = statement(
  `update artefacts a set signature_state = $3, signature_detail = $4, signer = $5, trust_anchor_id = $6,
     signature_expires_at = $7
   where a.tenant_id = $1 and a.id = $2`,
)

export type SignatureResultRow = Pick<
  ArtefactRow,
  'signatureState' | 'signatureDetail' | 'signer' | 'trustAnchorId' | 'signatureExpiresAt'
>

export async function setSignatureState(tx: Transaction, id: string, result: SignatureResultRow): Promise<void> {
  const { signatureState, signatureDetail, signer, trustAnchorId, signatureExpiresAt } = result
  await tx.run(signatureStateStatement, id, signatureState, signatureDetail, signer, trustAnchorId, signatureExpiresAt)
}

const distrustStatement = statement<{ id: string }>(
  `update artefacts a set signature_state = 'untrusted', signature_detail = $3, trust_anchor_id = null,
     signature_expires_at = null
   where a.tenant_id = $1 and a.trust_anchor_id = $2 returning a.id`,
)

/** Withdraws the trust in the signatures that an anchor confirms. Returns the ids of the artefacts. */
export async function distrustAnchor(tx: Transaction, anchorId: string, detail: string): Promise<string[]> {
  return (await tx.rows(distrustStatement, anchorId, detail)).map(({ id }) => id)
}

const signedStatement = statement<ArtefactRow>(
  `select ${columns} from ${source}
   where a.tenant_id = $1 and a.is_complete and a.signature is not null and a.id > $2 order by a.id limit $3`,
)

/** Returns complete artefacts with a signature, in the order of their ids, after an id. */
export function listSigned(handle: Handle, afterId: string, limit: number): Promise<ArtefactRow[]> {
  return handle.rows(signedStatement, afterId, limit)
}

const unfinishedStatement = statement<ArtefactRow>(
  `select ${columns} from ${source}
   where a.tenant_id = $1 and not a.is_complete and a.created_at < $2 and (u.modified_at is null or u.modified_at < $2)
   order by a.id limit $3`,
)

/** Returns artefacts whose upload was not continued since a time. */
export function listAbandoned(handle: Handle, before: string, limit: number): Promise<ArtefactRow[]> {
  return handle.rows(unfinishedStatement, before, limit)
}

const sourceStatement = statement(
  `update artefacts a set source_access_group_id = $3
   where a.tenant_id = $1 and a.source_asset_id = $2 and a.source_access_group_id is distinct from $3`,
)

/** Stores the access group to which an asset belongs now, for the artefacts that were read from it. */
export async function setSourceAccessGroup(tx: Transaction, assetId: string, accessGroupId: string): Promise<void> {
  await tx.run(sourceStatement, assetId, accessGroupId)
}

const sourceAssetsStatement = statement<{ assetId: string; accessGroupId: string }>(
  `select distinct a.source_asset_id as "assetId", a.source_access_group_id as "accessGroupId" from artefacts a
   where a.tenant_id = $1 and a.source_asset_id is not null`,
)

/** Returns the assets from which artefacts were read, with their stored access groups. */
export function listSourceAssets(handle: Handle): Promise<{ assetId: string; accessGroupId: string }[]> {
  return handle.rows(sourceAssetsStatement)
}
