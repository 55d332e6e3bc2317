import { audit } from './audit.ts'
import { authorization } from './authorization.ts'
import { events } from './events.ts'
import { identity } from './identity.ts'

/** Every contract by name: what clients, documents and generated tests go over. */
export const contracts = { identity, authorization, audit, events } as const
