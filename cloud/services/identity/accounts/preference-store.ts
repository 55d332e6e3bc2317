import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'

type PreferenceRow = { name: string; value: unknown }

const ofPrincipal = statement<PreferenceRow>(
  'select name, value from preferences where tenant_id = $1 and principal_id = $2 order by name',
)
const others = statement<{ total: number }>(
  'select count(*) as total from preferences where tenant_id = $1 and principal_id = $2 and name <> $3',
)
const upsert = statement(
  `insert into preferences (tenant_id, principal_id, name, value) values ($1, $2, $3, $4::text::jsonb)
   on conflict (tenant_id, principal_id, name) do update
   set value = excluded.value, modified_at = excluded.modified_at`,
)
const remove = statement('delete from preferences where tenant_id = $1 and principal_id = $2 and name = $3')

export function listPreferences(handle: Handle, principalId: string): Promise<PreferenceRow[]> {
  return handle.rows(ofPrincipal, principalId)
}

/** Counts the preferences of a principal except the one with this name. */
export async function countOtherPreferences(handle: Handle, principalId: string, name: string): Promise<number> {
  return (await handle.row(others, principalId, name))?.total ?? 0
}

type Preference = { principalId: string; name: string; value: unknown }

export async function putPreference(tx: Transaction, { principalId, name, value }: Preference): Promise<void> {
  await tx.run(upsert, principalId, name, JSON.stringify(value))
}

export async function deletePreference(tx: Transaction, principalId: string, name: string): Promise<void> {
  await tx.run(remove, principalId, name)
}
