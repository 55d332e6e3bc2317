import type { Context } from '../../platform/service.ts'
import type { Guard } from './guard.ts'
import type { KeyRing } from './signing-keys.ts'

/** What the handlers of this service share. */
export type IdentityContext = { context: Context; keys: KeyRing; guard: Guard }
