import type { AccessGroup } from '@millwright/api/authorization.ts'
import type { AccessGroupRow } from '../../platform/access/store.ts'

export function showAccessGroup(row: AccessGroupRow): AccessGroup {
  return { id: row.id, name: row.name, createdTimestamp: row.createdAt, lastModifiedTimestamp: row.modifiedAt }
}
