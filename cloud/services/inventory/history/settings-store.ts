import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'

export type SettingsRow = {
  /** The retention period of the history in days; null means unlimited. */
  historyDays: number | null
  /** The start of the readable history. */
  historyFrom: string | null
  version: number
}

const columns = `history_days as "historyDays", history_from as "historyFrom", version`

const findStatement = statement<SettingsRow>(`select ${columns} from inventory_settings where tenant_id = $1`)
const lockStatement = statement<SettingsRow>(
  `select ${columns} from inventory_settings where tenant_id = $1 for update`,
)

/** The settings of a tenant that has never changed them. */
const defaultSettings: SettingsRow = { historyDays: null, historyFrom: null, version: 0 }

export async function findSettings(handle: Handle): Promise<SettingsRow> {
  return (await handle.row(findStatement)) ?? defaultSettings
}

export async function lockSettings(tx: Transaction): Promise<SettingsRow> {
  return (await tx.row(lockStatement)) ?? defaultSettings
}

const putStatement = statement<SettingsRow>(
  `insert into inventory_settings as s (tenant_id, history_days, modified_at) values ($1, $2, now())
   on conflict (tenant_id) do update
   set history_days = excluded.history_days, version = s.version + 1, modified_at = excluded.modified_at
   returning ${columns}`,
)

export async function putSettings(tx: Transaction, { historyDays }: Pick<SettingsRow, 'historyDays'>) {
  return (await tx.row(putStatement, historyDays)) as SettingsRow
}
