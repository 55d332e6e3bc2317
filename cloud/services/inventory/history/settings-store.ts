import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'

export type SettingsRow = {
  /** Null is for ever. */
  historyDays: number | null
  /** What was before it is not told any more. */
  historyFrom: string | null
  version: number
}

const columns = `history_days as "historyDays", history_from as "historyFrom", version`

const findStatement = statement<SettingsRow>(`select ${columns} from inventory_settings where tenant_id = $1`)
const lockStatement = statement<SettingsRow>(
  `select ${columns} from inventory_settings where tenant_id = $1 for update`,
)

/** Of a tenant that never said anything. */
const unsaid: SettingsRow = { historyDays: null, historyFrom: null, version: 0 }

export async function findSettings(handle: Handle): Promise<SettingsRow> {
  return (await handle.row(findStatement)) ?? unsaid
}

export async function lockSettings(tx: Transaction): Promise<SettingsRow> {
  return (await tx.row(lockStatement)) ?? unsaid
}

const putStatement = statement<SettingsRow>(
  `insert into inventory_settings as s (tenant_id, history_days, modified_at) values ($1, $2, now())
   on conflict (tenant_id) do update set history_days = excluded.history_days, version = s.version + 1, modified_at = now()
   returning ${columns}`,
)

export async function putSettings(tx: Transaction, { historyDays }: Pick<SettingsRow, 'historyDays'>) {
  return (await tx.row(putStatement, historyDays)) as SettingsRow
}
