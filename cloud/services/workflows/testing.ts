import type { Transition, Workflow } from '@millwright/api/workflows.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { changeAccess, insertGrant, insertPrincipal } from '../../platform/access/store.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { newId } from '../../platform/database/id.ts'
import type { TestCaller, TestHub, TestTenant } from '../../platform/testing/hub.ts'

/**
 * Creates a workflow from lines with arrows: `a > b` is a transition of the client, `a ~> b` of the platform, and `a => b` is
 * immediate.
 */
export function machine(...lines: string[]): Workflow {
  const transitions = lines.map((line): Transition => {
    const [, from = '', arrow, to = ''] = /^(\S+) (>|~>|=>) (\S+)$/.exec(line) ?? []
    if (arrow === '>') return { from, to, eligible: 'CLIENT' }
    return { from, to, eligible: 'WFX', action: arrow === '=>' ? 'IMMEDIATE' : 'WAIT' }
  })
  const states = [...new Set(transitions.flatMap(({ from, to }) => [from, to]))].map((name) => ({ name }))
  return { name: 'machine', states, transitions }
}

/** The update workflow from the documentation of wfx. Existing agents use it. */
export const directUpdate: Workflow = {
  ...machine(
    'INSTALL > INSTALLING',
    'INSTALL > TERMINATED',
    'INSTALLING > TERMINATED',
    'INSTALLING > INSTALLED',
    'INSTALLED => ACTIVATE',
    'ACTIVATE > ACTIVATING',
    'ACTIVATE > TERMINATED',
    'ACTIVATING > TERMINATED',
    'ACTIVATING > ACTIVATED',
  ),
  name: 'wfx.workflow.dau.direct',
  description: 'a workflow for device artifact updates without confirmation',
  groups: [
    { name: 'OPEN', states: ['INSTALL', 'INSTALLING', 'INSTALLED', 'ACTIVATE', 'ACTIVATING'] },
    { name: 'CLOSED', states: ['ACTIVATED'] },
    { name: 'FAILED', states: ['TERMINATED'] },
  ],
}

/**
 * Returns a caller with the token of a gateway. Its requests have no DPoP proof, which the HTTP front requires from real
 * gateways.
 */
export async function gatewayCaller(hub: TestHub, tenant: TestTenant = hub.tenant): Promise<TestCaller> {
  const principal = await hub.context.database.transaction(tenant, async (tx) => {
    await changeAccess(tx)
    const made = await insertPrincipal(tx, { kind: 'gateway', name: `gateway-${newId()}` })
    await insertGrant(tx, { principalId: made.id, role: 'gateway' })
    return made
  })
  return hub.withToken(await hub.tokenFor(principal.id, { roles: ['gateway'], tenant }), principal.id)
}

/** Returns a client of the workflow service for internal services. */
export function engineOf(hub: TestHub, tenant: TestTenant = hub.tenant) {
  return hub.context.peers(workflows, systemCaller({ tenantId: tenant.tenantId, tenantName: tenant.name }))
}
