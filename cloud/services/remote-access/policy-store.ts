import { defaultRemotePolicy, type RemotePolicy } from '@millwright/api/remote-access.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on the policies of access groups. */

const findStatement = statement<{ policy: RemotePolicy }>(
  `select p.policy from remote_policies p where p.tenant_id = $1 and p.access_group_id = $2`,
)

/** Returns the policy of an access group, which is the default policy if the group has none. */
export async function policyOf(handle: Handle, accessGroupId: string): Promise<RemotePolicy> {
  return (await handle.row(findStatement, accessGroupId))?.policy ?? defaultRemotePolicy
}

const listStatement = statement<{ accessGroupId: string; policy: RemotePolicy }>(
  `select p.access_group_id as "accessGroupId", p.policy from remote_policies p where p.tenant_id = $1
   order by p.access_group_id`,
)

/** Returns all policies. A tenant has a few thousand access groups at most. */
export function listPolicies(handle: Handle) {
  return handle.rows(listStatement)
}

const putStatement = statement(
  `insert into remote_policies (tenant_id, access_group_id, policy, modified_at) values ($1, $2, $3::json, $4)
   on conflict (tenant_id, access_group_id) do update
   set policy = excluded.policy, modified_at = excluded.modified_at`,
)

export async function putPolicy(
  tx: Transaction,
  accessGroupId: string,
  { policy, now }: { policy: RemotePolicy; now: string },
): Promise<void> {
  await tx.run(putStatement, accessGroupId, jsonText(policy), now)
}
