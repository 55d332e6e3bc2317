import { identity } from '@millwright/api/identity.ts'
import { service } from '../../platform/service.ts'
import { gatewayHandlers } from './accounts/gateways.ts'
import { Guard } from './accounts/guard.ts'
import { ownAccountHandlers } from './accounts/own-account.ts'
import { preferenceHandlers } from './accounts/preferences.ts'
import { serverUserHandlers } from './accounts/server-users.ts'
import { userHandlers } from './accounts/users.ts'
import type { IdentityContext } from './context.ts'
import { ownFactorHandlers } from './factors/own-factors.ts'
import { factorResetHandlers } from './factors/reset-factors.ts'
import { sealedTotpSecrets } from './factors/totp.ts'
import { metadataHandlers } from './oauth/metadata.ts'
import { revocationHandlers } from './oauth/revocation.ts'
import { tokenHandlers } from './oauth/tokens.ts'
import { providerLogoutHandlers } from './providers/logout.ts'
import { ProviderClients } from './providers/provider-client.ts'
import { providerSignInHandlers } from './providers/provider-sign-in.ts'
import { sealedProviderValues } from './providers/provider-store.ts'
import { providerTokenHandlers } from './providers/provider-token.ts'
import { providerHandlers } from './providers/providers.ts'
import { pruningTasks } from './pruning.ts'
import { secondFactorHandlers } from './sign-in/second-factor.ts'
import { sessionHandlers } from './sign-in/session-list.ts'
import { signInHandlers } from './sign-in/sign-in.ts'
import { signInPolicyHandlers } from './sign-in/sign-in-policy.ts'
import { signOutHandlers } from './sign-in/sign-out.ts'
import { stepUpHandlers } from './sign-in/step-up.ts'
import { ensureSigningKey, KeyRing, sealedSigningKeys } from './signing-keys/signing-keys.ts'

export const identityService = service({
  contract: identity,
  migrations: { module: 'identity', folder: new URL('./migrations/', import.meta.url) },
  handlers(context) {
    const shared: IdentityContext = {
      context,
      keys: new KeyRing(context),
      guard: new Guard(context),
      providers: new ProviderClients(context),
    }
    return {
      ...tokenHandlers(shared),
      ...revocationHandlers(shared),
      ...signInHandlers(shared),
      ...signOutHandlers(shared),
      ...secondFactorHandlers(shared),
      ...stepUpHandlers(shared),
      ...sessionHandlers(shared),
      ...signInPolicyHandlers(shared),
      ...ownFactorHandlers(shared),
      ...factorResetHandlers(shared),
      ...providerHandlers(shared),
      ...providerSignInHandlers(shared),
      ...providerLogoutHandlers(shared),
      ...providerTokenHandlers(shared),
      ...metadataHandlers(shared),
      ...ownAccountHandlers(shared),
      ...preferenceHandlers(shared),
      ...userHandlers(shared),
      ...serverUserHandlers(shared),
      ...gatewayHandlers(shared),
    }
  },
  tasks: pruningTasks,
  prepare: ensureSigningKey,
  sealed: [sealedSigningKeys, ...sealedTotpSecrets, ...sealedProviderValues],
})
