import { apiOf } from '../api/client.ts'
import { LiveEvents } from '../live/live-events.ts'
import { PreferenceStore } from '../preferences/preference-store.ts'
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
import type { Visit } from './user-context.tsx'

/** What opening the page came to. */
export type Opening =
  | { kind: 'leaving' }
  | { kind: 'outside'; metadata: Metadata }
  | { kind: 'wrong-address'; home: string | undefined }
  | { kind: 'inside'; metadata: Metadata; session: Session }

const loopback = ['localhost', '127.0.0.1', '[::1]']

export async function open(): Promise<Opening> {
  const metadata = await readMetadata()
  const elsewhere = wrongAddress(metadata)
  if (elsewhere !== undefined) return elsewhere
  if (location.pathname === '/auth/callback') {
    const session = await finishSignIn(metadata)
    return session === undefined ? { kind: 'outside', metadata } : { kind: 'inside', metadata, session }
  }
  if (location.pathname === '/') history.replaceState(null, '', '/console/')
  if (!wasSignedIn()) return { kind: 'outside', metadata }
  await beginSignIn(metadata, { silent: true })
  return { kind: 'leaving' }
}

/**
 * Signing in works at the platform's own address only, and only where the browser offers cryptography. `localhost` is
 * what people type for a platform of this machine: that is put right without a word.
 */
function wrongAddress({ issuer }: Metadata): Opening | undefined {
  const home = new URL(issuer)
  if (home.origin === location.origin) {
    return isSecureContext ? undefined : { kind: 'wrong-address', home: undefined }
  }
  if ([home, location].every(({ hostname }) => loopback.includes(hostname)) && home.port === location.port) {
    location.replace(`${home.origin}${location.pathname}${location.search}${location.hash}`)
    return { kind: 'leaving' }
  }
  return { kind: 'wrong-address', home: home.origin }
}

export type Arrival = { visit: Visit }

type Ways = { onLeft: (why: 'signed-out' | 'ended' | 'elsewhere') => void }

/** Gathers what the console needs to know of somebody, and begins to listen. */
export async function arrive(session: Session, { onLeft }: Ways): Promise<Arrival> {
  const { api, raw } = apiOf(session)
  const [person, rights, preferences] = await Promise.all([
    api.identity.userInfo({}),
    api.authorization.readOwnRights({}),
    PreferenceStore.open(api),
  ])
  const live = new LiveEvents(raw)
  const leave = (why: 'signed-out' | 'ended' | 'elsewhere') => {
    live.stop()
    onLeft(why)
  }
  session.onEnded = () => leave('ended')
  onSignedOutElsewhere(() => leave('elsewhere'))
  live.start()
  const signOut = async () => {
    await preferences.flush()
    await session.signOut()
    history.replaceState(null, '', '/console/')
    leave('signed-out')
  }
  return { visit: { person, rights: rightsOf(rights.data.permissions), api, raw, live, preferences, signOut } }
}
