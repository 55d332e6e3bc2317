import type { ServerUser, User } from '@millwright/api/identity.ts'
import type { ServerUserRow, UserRow } from '../store.ts'

export function userOf(row: UserRow): User {
  return {
    id: row.id,
    name: row.name,
    displayName: row.displayName,
    disabled: row.disabled,
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
    lastSignInTimestamp: row.lastSignInAt,
    provider: row.provider,
    hasSecondFactor: row.hasSecondFactor,
  }
}

export function serverUserOf(row: ServerUserRow): ServerUser {
  return {
    id: row.id,
    name: row.name,
    clientId: row.clientId,
    disabled: row.disabled,
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
    secretCreatedTimestamp: row.secretCreatedAt,
  }
}
