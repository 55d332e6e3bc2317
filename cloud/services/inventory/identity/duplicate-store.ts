import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { firstTime, statement } from '../../../platform/database/statement.ts'
import { type Groups, isReadableRow } from '../visibility.ts'

/** The identifiers of one write, each with the asset that owns it, and the source of the write. */
export type Evidence = {
  identifiers: { assetId: string; identifier: Record<string, unknown> }[]
  source: { type: string; value?: string | undefined }
}

/** Two assets that own identifiers of the same write. The smaller id comes first, so that each pair exists once. */
export type Suspicion = { assetId: string; otherId: string; evidence: Evidence; time: string }

const putStatement = statement(
  `insert into asset_conflicts as c (tenant_id, asset_id, other_id, evidence, first_seen, last_seen)
   select $1, "assetId", "otherId", evidence, time, time
   from json_to_recordset($2::json) as r ("assetId" uuid, "otherId" uuid, evidence json, time timestamptz)
   on conflict (tenant_id, asset_id, other_id) do update
   set evidence = excluded.evidence, last_seen = greatest(c.last_seen, excluded.last_seen)`,
)

/** Stores suspected duplicates. A dismissed pair stays dismissed when it is found again. */
export async function putSuspicions(tx: Transaction, suspicions: readonly Suspicion[]): Promise<void> {
  if (suspicions.length === 0) return
  const unique = new Map(suspicions.map((suspicion) => [`${suspicion.assetId}${suspicion.otherId}`, suspicion]))
  await tx.run(putStatement, jsonText([...unique.values()]))
}

export type DuplicateRow = {
  assetId: string
  assetName: string | null
  otherId: string
  otherName: string | null
  evidence: Evidence
  firstSeen: string
  lastSeen: string
  dismissedAt: string | null
}

const columns = `c.asset_id as "assetId", a.name as "assetName", c.other_id as "otherId", o.name as "otherName", c.evidence,
  c.first_seen as "firstSeen", c.last_seen as "lastSeen", c.dismissed_at as "dismissedAt"`
const from = `asset_conflicts c join assets a on a.tenant_id = $1 and a.id = c.asset_id
  join assets o on o.tenant_id = $1 and o.id = c.other_id`
const areReadable = `${isReadableRow('a', '$2')} and ${isReadableRow('o', '$2')}`

function listing({ dismissed, ofAsset }: { dismissed: boolean; ofAsset: boolean }) {
  const state = dismissed ? 'c.dismissed_at is not null' : 'c.dismissed_at is null'
  const asset = ofAsset ? 'and (c.asset_id = $3 or c.other_id = $3)' : ''
  const next = ofAsset ? 4 : 3
  const where = `c.tenant_id = $1 and ${state} ${asset} and ${areReadable}`
  return {
    page: statement<DuplicateRow>(
      `select ${columns} from ${from} where ${where}
       order by c.last_seen desc, c.asset_id, c.other_id limit $${next} offset $${next + 1}`,
    ),
    count: statement<{ total: number }>(`select count(*) as total from ${from} where ${where}`),
  }
}

const listings = {
  open: listing({ dismissed: false, ofAsset: false }),
  dismissed: listing({ dismissed: true, ofAsset: false }),
  openOfAsset: listing({ dismissed: false, ofAsset: true }),
  dismissedOfAsset: listing({ dismissed: true, ofAsset: true }),
}

type ListOptions = {
  groups: Groups
  asset: string | undefined
  dismissed: boolean
  limit: number
  offset: number
}

/** Returns pairs of assets that are both readable with these groups, latest first. */
export async function listDuplicates(handle: Handle, { groups, asset, dismissed, limit, offset }: ListOptions) {
  const { page, count } = listings[`${dismissed ? 'dismissed' : 'open'}${asset === undefined ? '' : 'OfAsset'}`]
  const values = asset === undefined ? [groups] : [groups, asset]
  const rows = await handle.rows(page, ...values, limit, offset)
  if (rows.length < limit && (rows.length > 0 || offset === 0)) return { rows, total: offset + rows.length }
  return { rows, total: (await handle.row(count, ...values))?.total ?? 0 }
}

const dismissStatement = statement(
  `update asset_conflicts set dismissed_at = ${firstTime('dismissed_at')}
   where tenant_id = $1 and asset_id = $2 and other_id = $3`,
)
const reopenStatement = statement(
  'update asset_conflicts set dismissed_at = null where tenant_id = $1 and asset_id = $2 and other_id = $3',
)
const oneStatement = statement<DuplicateRow>(
  `select ${columns} from ${from} where c.tenant_id = $1 and c.asset_id = $2 and c.other_id = $3`,
)

export type Pair = { assetId: string; otherId: string }

/** Dismisses or reopens a pair. Returns the pair after the change, or undefined if it does not exist. */
export async function dismissDuplicate(
  tx: Transaction,
  { assetId, otherId, dismissed }: Pair & { dismissed: boolean },
): Promise<DuplicateRow | undefined> {
  await tx.run(dismissed ? dismissStatement : reopenStatement, assetId, otherId)
  return tx.row(oneStatement, assetId, otherId)
}
