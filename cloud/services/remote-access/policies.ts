import { Problem } from '@millwright/api/problem.ts'
import type { remoteAccess } from '@millwright/api/remote-access.ts'
import { validate as isUuid } from 'uuid'
import type { Caller } from '../../platform/access/caller.ts'
import { isVisibleGroup } from '../../platform/access/rights.ts'
import {
  type AccessGroupRow,
  findAccessGroup,
  findAccessGroupByName,
  listAccessGroupsAmong,
} from '../../platform/access/store.ts'
import { record } from '../../platform/audit/audit.ts'
import { emit } from '../../platform/events/events.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { listPolicies, policyOf, putPolicy } from './policy-store.ts'
import { sessionsTopic } from './session-report.ts'
import { lockUnendedOfGroup, type SessionLimits, type SessionRow, setLimits } from './session-store.ts'

type Operations = 'listPolicies' | 'readPolicy' | 'putPolicy'

/** The policies of access groups. A policy is visible to every user who can see its access group. */
export function policyHandlers(context: Context): Pick<Handlers<typeof remoteAccess>, Operations> {
  const { database } = context
  return {
    async listPolicies({ query: { limit = 50, offset = 0 } }, caller) {
      const shown = await database.read(caller, async (handle) => {
        const policies = new Map((await listPolicies(handle)).map((row) => [row.accessGroupId, row.policy]))
        const visible = [...policies.keys()].filter((id) => isVisibleGroup(caller.rights, id))
        const groups = visible.length === 0 ? [] : await listAccessGroupsAmong(handle, visible)
        return groups.flatMap(({ id, name }) => {
          const policy = policies.get(id)
          return policy === undefined ? [] : [{ accessGroup: id, accessGroupName: name, policy }]
        })
      })
      const data = shown.slice(offset, offset + limit)
      return { data, meta: { totalElements: shown.length, elements: data.length, offset } }
    },

    async readPolicy({ params: { accessGroup } }, caller) {
      const group = await requireGroup(context, caller, accessGroup)
      return { data: await database.read(caller, (handle) => policyOf(handle, group.id)) }
    },

    async putPolicy({ params: { accessGroup }, body: { data: policy } }, caller) {
      const group = await requireGroup(context, caller, accessGroup)
      const now = new Date().toISOString()
      await database.transaction(caller, async (tx) => {
        const before = await policyOf(tx, group.id)
        await putPolicy(tx, group.id, { policy, now })
        for (const row of await lockUnendedOfGroup(tx, group.id)) {
          const limits = shortened(row, policy)
          if (limits !== undefined) await setLimits(tx, row.id, limits)
        }
        const detail = { accessGroup: group.name, before, after: policy }
        const target = `access-group/${group.id}`
        await record(tx, caller, { action: 'remote-access.putPolicy', target, detail })
        await emit(tx, {
          type: 'remote-access.policy.changed',
          subject: target,
          data: { accessGroupId: group.id, policy },
        })
        tx.signal(sessionsTopic)
      })
      return { data: policy }
    },
  }
}

/** Returns the limits of a session under a new policy. Returns undefined if they do not change. */
export function shortened(
  { durationMinutes, idleMinutes, expiresAt, state }: Pick<SessionRow, keyof SessionLimits | 'state'>,
  policy: { maxMinutes: number; idleMinutes: number },
): SessionLimits | undefined {
  const minutes = Math.min(durationMinutes, policy.maxMinutes)
  const idle = Math.min(idleMinutes, policy.idleMinutes)
  if (minutes === durationMinutes && idle === idleMinutes) return undefined
  // The duration of a session that waits for an approval starts with the approval.
  const earlierMs = state === 'pending-approval' ? 0 : (durationMinutes - minutes) * 60_000
  const expires = new Date(Date.parse(expiresAt) - earlierMs).toISOString()
  return { durationMinutes: minutes, idleMinutes: idle, expiresAt: expires }
}

/** Returns an access group by its id or name. Hidden and missing groups return the same error. */
async function requireGroup({ database }: Context, caller: Caller, nameOrId: string): Promise<AccessGroupRow> {
  const group = await database.read(caller, (handle) =>
    isUuid(nameOrId) ? findAccessGroup(handle, nameOrId.toLowerCase()) : findAccessGroupByName(handle, nameOrId),
  )
  if (group !== undefined && isVisibleGroup(caller.rights, group.id)) return group
  throw new Problem('not_found', `Access group ${nameOrId} does not exist`)
}
