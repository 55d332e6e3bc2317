import { identity } from '@millwright/api/identity.ts'
import { service } from '../../platform/service.ts'
import type { IdentityContext } from './context.ts'
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

export const identityService = service({
  contract: identity,
  migrations: { module: 'identity', folder: new URL('./migrations/', import.meta.url) },
  handlers(context) {
    const shared: IdentityContext = { context, keys: new KeyRing(context), guard: new Guard(context) }
    return {
      ...tokenHandlers(shared),
      ...revocationHandlers(shared),
      ...signInHandlers(shared),
      ...signOutHandlers(shared),
      ...metadataHandlers(shared),
      ...ownAccountHandlers(shared),
      ...preferenceHandlers(shared),
      ...userHandlers(shared),
      ...serverUserHandlers(shared),
      ...gatewayHandlers(shared),
    }
  },
  jobs: pruningJobs,
  prepare: ensureSigningKey,
  sealed: [sealedSigningKeys],
})
