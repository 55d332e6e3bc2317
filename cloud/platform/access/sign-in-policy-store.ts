import type { SignInPolicy } from '@millwright/api/sign-in-security.ts'
import type { Handle, Transaction } from '../database/database.ts'
import { statement } from '../database/statement.ts'

export type SignInPolicyRow = SignInPolicy & { version: number }

/** The policy of a tenant that has not changed its policy. The columns of the table have the same defaults. */
export const defaultSignInPolicy: SignInPolicyRow = {
  secondFactor: 'nobody',
  stepUp: [],
  stepUpMinutes: 15,
  idleMinutes: 720,
  absoluteHours: 720,
  version: 0,
}

const columns = `second_factor as "secondFactor", step_up as "stepUp", step_up_minutes as "stepUpMinutes",
  idle_minutes as "idleMinutes", absolute_hours as "absoluteHours", version`

const policyOfTenant = statement<SignInPolicyRow>(`select ${columns} from sign_in_policies where tenant_id = $1`)
const upsertPolicy = statement<SignInPolicyRow>(
  `insert into sign_in_policies
     (tenant_id, second_factor, step_up, step_up_minutes, idle_minutes, absolute_hours, modified_at)
   values ($1, $2, $3, $4, $5, $6, $7)
   on conflict (tenant_id) do update set second_factor = excluded.second_factor, step_up = excluded.step_up,
     step_up_minutes = excluded.step_up_minutes, idle_minutes = excluded.idle_minutes,
     absolute_hours = excluded.absolute_hours, modified_at = excluded.modified_at,
     version = sign_in_policies.version + 1
   returning ${columns}`,
)

/** Returns the sign-in policy of the tenant. */
export async function getSignInPolicy(handle: Handle): Promise<SignInPolicyRow> {
  return (await handle.row(policyOfTenant)) ?? defaultSignInPolicy
}

export async function putSignInPolicy(tx: Transaction, policy: SignInPolicy): Promise<SignInPolicyRow> {
  const { secondFactor, stepUp, stepUpMinutes, idleMinutes, absoluteHours } = policy
  const values = [secondFactor, stepUp, stepUpMinutes, idleMinutes, absoluteHours]
  const row = await tx.row(upsertPolicy, ...values, new Date().toISOString())
  if (row === undefined) throw new Error('The sign-in policy was not stored')
  return row
}
