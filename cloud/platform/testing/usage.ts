import { authorization } from '@millwright/api/authorization.ts'
import { identity } from '@millwright/api/identity.ts'
import { rightPassword, signedIn } from '../../services/identity/testing.ts'
import type { TestHub } from './hub.ts'

/** One resource of a tenant and a way to get at it that another tenant must not have. */
export type Reach = { operation: string; method: string; path: string }

/**
 * Uses the platform once in every way that leaves rows, so that tests over all tables find some in each. A new table
 * that nothing here fills makes those tests fail: add its use here.
 */
export async function useEverything(hub: TestHub): Promise<Reach[]> {
  const admin = await hub.as('administrator')
  const group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line-1' } } })).data
  const role = (
    await admin.authorization.createRole({ body: { data: { name: 'fitter', permissions: ['glb_jobs_read'] } } })
  ).data
  const user = (
    await admin.identity.createUser({
      body: { data: { name: 'jane', password: rightPassword } },
      headers: { 'idempotency-key': 'create jane' },
    })
  ).data
  const server = (await admin.identity.createServerUser({ body: { data: { name: 'historian' } } })).data
  const grant = (
    await admin.authorization.createGrant({
      body: { data: { principal: user.id, role: 'operator', accessGroup: group.id } },
    })
  ).data
  await signedIn(hub, `jane@${hub.tenant.name}`)
  await hub.context.database.transaction(hub.tenant, (tx) =>
    hub.context.jobs.schedule(tx, { kind: 'audit.seal', key: 'usage', cron: '0 0 1 1 *' }),
  )
  await hub.settle()
  return [
    ...reaches(identity.prefix, `/users/${user.id}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(identity.prefix, `/server-users/${server.id}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(identity.prefix, `/server-users/${server.id}/secret`, ['POST']),
    ...reaches(authorization.prefix, `/access-groups/${group.id}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(authorization.prefix, `/roles/${role.name}`, ['GET', 'DELETE']),
    ...reaches(authorization.prefix, `/grants/${grant.id}`, ['GET', 'DELETE']),
  ]
}

function reaches(prefix: string, path: string, methods: string[]): Reach[] {
  return methods.map((method) => ({ operation: `${method} ${path}`, method, path: prefix + path }))
}
