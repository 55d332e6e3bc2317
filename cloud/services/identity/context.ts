import type { Context } from '../../platform/service.ts'
import type { Guard } from './accounts/guard.ts'
import type { ProviderClients } from './providers/provider-client.ts'
import type { KeyRing } from './signing-keys/signing-keys.ts'

/** `IdentityContext` holds the objects that the handlers of this service share. */
export type IdentityContext = { context: Context; keys: KeyRing; guard: Guard; providers: ProviderClients }
