import type { Permission } from '@millwright/api/permission.ts'
import { createContext, use } from 'react'
import type { Api, FetchOperation } from '../api/client.ts'
import type { LiveEvents } from '../live/live-events.ts'
import type { PreferenceStore } from '../preferences/preference-store.ts'
import type { IdentityConfirmation } from '../step-up/identity-confirmation.ts'
import type { IdleMonitor } from './idle-monitor.ts'
import type { Rights } from './rights.ts'

export type CurrentUser = {
  sub: string
  name: string
  preferred_username: string
  tenant: string
  tenant_name: string
  roles: string[]
}

/** `AppContextValue` contains everything that pages share while a user is signed in. */
export type AppContextValue = {
  user: CurrentUser
  rights: Rights
  api: Api
  fetchOperation: FetchOperation
  live: LiveEvents
  preferences: PreferenceStore
  idle: IdleMonitor
  confirmation: IdentityConfirmation
  /** Opens a window in which the user signs in again. */
  signInAgain(signal: AbortSignal): Promise<void>
  signOut(): Promise<void>
}

export const AppContext = createContext<AppContextValue | undefined>(undefined)

export function useAppContext(): AppContextValue {
  const context = use(AppContext)
  if (context === undefined) throw new Error('useAppContext needs an AppContext provider')
  return context
}

export function useApi(): Api {
  return useAppContext().api
}

export function useRights(): Rights {
  return useAppContext().rights
}

/**
 * Returns true when the user has a permission in at least one access group. Pages hide the controls that the user has
 * no permission for.
 */
export function usePermission(permission: Permission): boolean {
  return useAppContext().rights.has(permission)
}
