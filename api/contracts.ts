import { audit } from './audit.ts'
import { authorization } from './authorization.ts'
import { events } from './events.ts'
import { identity } from './identity.ts'
import { inventory } from './inventory.ts'
import { inventoryV1 } from './inventory-v1.ts'

/** Every contract by name: what clients, documents and generated tests go over. */
export const contracts = { identity, authorization, audit, events, inventory, 'inventory-v1': inventoryV1 } as const
