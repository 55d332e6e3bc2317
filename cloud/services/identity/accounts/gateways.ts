import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { calculateJwkThumbprint, type JWK } from 'jose'
import {
  changeAccess,
  deletePrincipal,
  findPrincipal,
  insertGrant,
  insertPrincipal,
  updatePrincipal,
} from '../../../platform/access/store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import { putDirectoryEntry, removeDirectoryEntry } from '../../../platform/tenants/store.ts'
import type { IdentityContext } from '../context.ts'
import { gatewayClientId } from '../oauth/gateway-assertion.ts'
import { putGatewayKey } from './gateway-store.ts'

type Operations = 'putGateway' | 'updateGateway' | 'deleteGateway'

/**
 * Handlers for the principals of gateways, which the onboarding service calls. The principal of a gateway has the same
 * id as the asset of the gateway.
 */
export function gatewayHandlers({
  context: { database },
}: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  return {
    async putGateway({ params: { id }, body: { data } }, caller) {
      const publicJwk = data.publicKey as JWK
      const thumbprint = await calculateJwkThumbprint(publicJwk, 'sha256')
      const clientId = gatewayClientId(id)
      return database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const principal = await findPrincipal(tx, id)
        if (principal === undefined) await addGateway(tx, { id, name: data.name, clientId })
        else await updatePrincipal(tx, id, { disabled: false })
        await putGatewayKey(tx, { principalId: id, clientId, publicJwk, thumbprint })
        await record(tx, caller, { action: 'identity.putGateway', target: `gateway/${id}`, detail: { thumbprint } })
        return { data: { clientId, thumbprint } }
      })
    },

    async updateGateway({ params: { id }, body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        if ((await findPrincipal(tx, id)) === undefined) throw missing(id)
        await updatePrincipal(tx, id, { disabled: data.disabled })
        await record(tx, caller, { action: 'identity.updateGateway', target: `gateway/${id}`, detail: data })
        return answer(204)
      })
    },

    async deleteGateway({ params: { id } }, caller) {
      return database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        if ((await findPrincipal(tx, id)) === undefined) return answer(204)
        await removeDirectoryEntry(tx, { kind: 'client', key: gatewayClientId(id) })
        await deletePrincipal(tx, id)
        await record(tx, caller, { action: 'identity.deleteGateway', target: `gateway/${id}` })
        return answer(204)
      })
    },
  }
}

async function addGateway(tx: Transaction, { id, name, clientId }: { id: string; name: string; clientId: string }) {
  // Two gateways may have the same name, so the name of the principal contains the id.
  await insertPrincipal(tx, { id, kind: 'gateway', name: `${name} (${id})`, displayName: name })
  await insertGrant(tx, { principalId: id, role: 'gateway' })
  if (!(await putDirectoryEntry(tx, { kind: 'client', key: clientId, principalId: id })))
    throw new Problem('already_exists', `A client with the id ${clientId} already exists`)
}

function missing(id: string): Problem {
  return new Problem('not_found', `Gateway ${id} does not exist`)
}
