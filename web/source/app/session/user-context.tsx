import type { Permission } from '@millwright/api/permission.ts'
import { createContext, use } from 'react'
import type { Api, Raw } from '../api/client.ts'
import type { LiveEvents } from '../live/live-events.ts'
import type { PreferenceStore } from '../preferences/preference-store.ts'
import type { Rights } from './rights.ts'

export type Person = {
  sub: string
  name: string
  preferred_username: string
  tenant: string
  tenant_name: string
  roles: string[]
}

/** Somebody at the console: who it is, what they may do, and the ways to the platform. */
export type Visit = {
  person: Person
  rights: Rights
  api: Api
  raw: Raw
  live: LiveEvents
  preferences: PreferenceStore
  signOut(): Promise<void>
}

export const VisitContext = createContext<Visit | undefined>(undefined)

export function useVisit(): Visit {
  const visit = use(VisitContext)
  if (visit === undefined) throw new Error('Nobody is signed in here')
  return visit
}

export function useApi(): Api {
  return useVisit().api
}

export function useRights(): Rights {
  return useVisit().rights
}

/** Whether to offer something that needs a permission. */
export function useMay(permission: Permission): boolean {
  return useVisit().rights.may(permission)
}
