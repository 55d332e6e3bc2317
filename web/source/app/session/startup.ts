import { createApi } from '../api/client.ts'
import { LiveEvents } from '../live/live-events.ts'
import { PreferenceStore } from '../preferences/preference-store.ts'
import { IdentityConfirmation } from '../step-up/identity-confirmation.ts'
import type { AppContextValue } from './app-context.tsx'
import { IdleMonitor } from './idle-monitor.ts'
import { rightsOf } from './rights.ts'
import {
  beginSignIn,
  finishSignIn,
  type Metadata,
  onSignedOutElsewhere,
  readMetadata,
  type Session,
  wasSignedIn,
} from './session.ts'

/** `StartupResult` determines what the page renders first when it opens. */
export type StartupResult =
  | { kind: 'redirecting' }
  | { kind: 'signed-out'; metadata: Metadata }
  | { kind: 'wrong-address'; home: string | undefined }
  | { kind: 'signed-in'; metadata: Metadata; session: Session }

const loopback = ['localhost', '127.0.0.1', '[::1]']

export async function resolveStartup(): Promise<StartupResult> {
  const metadata = await readMetadata()
  const wrongAddress = checkAddress(metadata)
  if (wrongAddress !== undefined) return wrongAddress
  if (location.pathname === '/auth/callback') {
    const session = await finishSignIn(metadata)
    if (session === 'elsewhere') return { kind: 'redirecting' }
    return session === undefined ? { kind: 'signed-out', metadata } : { kind: 'signed-in', metadata, session }
  }
  if (location.pathname === '/') history.replaceState(null, '', '/console/')
  if (!wasSignedIn()) return { kind: 'signed-out', metadata }
  await beginSignIn(metadata, { silent: true })
  return { kind: 'redirecting' }
}

/**
 * Returns undefined if sign-in is possible at this address. Sign-in is possible only at the configured address of the
 * server and in a secure context, because browsers offer cryptography only there. If both addresses are loopback names
 * such as `localhost`, the browser is redirected to the configured address.
 */
function checkAddress({ issuer }: Metadata): StartupResult | undefined {
  const home = new URL(issuer)
  if (home.origin === location.origin) {
    return isSecureContext ? undefined : { kind: 'wrong-address', home: undefined }
  }
  if ([home, location].every(({ hostname }) => loopback.includes(hostname)) && home.port === location.port) {
    location.replace(`${home.origin}${location.pathname}${location.search}${location.hash}`)
    return { kind: 'redirecting' }
  }
  return { kind: 'wrong-address', home: home.origin }
}

export type SignedOutReason = 'signed-out' | 'ended' | 'elsewhere' | { idleMinutes: number }

type UserSessionOptions = { onSignedOut: (reason: SignedOutReason) => void }

/** Loads the user, the rights and the preferences, and starts the stream of live events. */
export async function startUserSession(
  session: Session,
  { onSignedOut }: UserSessionOptions,
): Promise<AppContextValue> {
  const { api, fetchOperation } = createApi(session)
  const [user, rights, preferences] = await Promise.all([
    api.identity.userInfo({}),
    api.authorization.readOwnRights({}),
    PreferenceStore.open(api),
  ])
  const live = new LiveEvents(fetchOperation, user.sub)
  const confirmation = new IdentityConfirmation()
  const end = (reason: SignedOutReason) => {
    live.stop()
    idle.stop()
    onSignedOut(idle.isNearlyExpired() && reason !== 'signed-out' ? { idleMinutes: idle.limitMinutes } : reason)
  }
  const idle = new IdleMonitor({
    // A failed renewal needs no message here. The next request of a page fails, too, and its page shows the failure.
    onUse: () => session.renew().catch(() => {}),
    onExpired: () => {
      session.signOut().catch(() => {})
      end('ended')
    },
  })
  session.isIdle = () => idle.isExpired()
  session.confirmIdentity = () => confirmation.request()
  session.onEnded = () => end('ended')
  onSignedOutElsewhere(() => end('elsewhere'))
  live.start()
  const signOut = async () => {
    await preferences.flush()
    const providerUrl = await session.signOut()
    history.replaceState(null, '', '/console/')
    end('signed-out')
    if (providerUrl !== undefined) location.assign(providerUrl)
  }
  return {
    user,
    rights: rightsOf(rights.data.permissions),
    api,
    fetchOperation,
    live,
    preferences,
    idle,
    confirmation,
    signInAgain: (signal) => session.signInAgain({ userId: user.sub, signal }),
    signOut,
  }
}
