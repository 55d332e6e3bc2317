import { identity } from '@millwright/api/identity.ts'
import { type Context, service } from '../../platform/service.ts'
import { gatewayHandlers } from './gateways.ts'
import { Guard } from './guard.ts'
import { metadataHandlers } from './metadata.ts'
import { ownAccountHandlers } from './own-account.ts'
import { preferenceHandlers } from './preferences.ts'
import { pruningJobs } from './pruning.ts'
import { revocationHandlers } from './revocation.ts'
import { serverUserHandlers } from './server-users.ts'
import { signInHandlers } from './sign-in.ts'
import { signOutHandlers } from './sign-out.ts'
import { ensureSigningKey, KeyRing, sealedSigningKeys } from './signing-keys.ts'
import { tokenHandlers } from './tokens.ts'
import { userHandlers } from './users.ts'

/** What the handlers of this service share. */
export type Desk = { context: Context; keys: KeyRing; guard: Guard }

export const identityService = service({
  contract: identity,
  migrations: { module: 'identity', folder: new URL('./migrations/', import.meta.url) },
  handlers(context) {
    const desk: Desk = { context, keys: new KeyRing(context), guard: new Guard(context) }
    return {
      ...tokenHandlers(desk),
      ...revocationHandlers(desk),
      ...signInHandlers(desk),
      ...signOutHandlers(desk),
      ...metadataHandlers(desk),
      ...ownAccountHandlers(desk),
      ...preferenceHandlers(desk),
      ...userHandlers(desk),
      ...serverUserHandlers(desk),
      ...gatewayHandlers(desk),
    }
  },
  jobs: pruningJobs,
  prepare: ensureSigningKey,
  sealed: [sealedSigningKeys],
})
