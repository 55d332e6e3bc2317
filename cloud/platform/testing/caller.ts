import type { Permission } from '@millwright/api/permission.ts'
import { v7 } from 'uuid'
import { changeAccess, insertGrant, insertPrincipal } from '../access/store.ts'
import type { TestCaller, TestHub } from './hub.ts'

type Held = { permissions: readonly Permission[]; accessGroupId?: string }

/** Creates a caller with exactly these permissions, in the whole tenant or in access groups. */
export async function createCaller(hub: TestHub, held: readonly Held[]): Promise<TestCaller> {
  const admin = await hub.as('administrator')
  const roles: string[] = []
  for (const { permissions } of held) {
    const name = `role-${v7()}`
    await admin.authorization.createRole({ body: { data: { name, permissions: [...permissions] } } })
    roles.push(name)
  }
  const principalId = await hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    const { id } = await insertPrincipal(tx, { kind: 'user', name: `caller-${v7()}` })
    for (const [index, { accessGroupId }] of held.entries()) {
      const where = accessGroupId === undefined ? {} : { accessGroupId }
      await insertGrant(tx, { principalId: id, role: roles[index] ?? '', ...where })
    }
    return id
  })
  return hub.withToken(await hub.tokenFor(principalId, { roles }), principalId)
}
