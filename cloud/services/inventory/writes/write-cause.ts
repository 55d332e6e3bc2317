import type { ChangeCause } from '@millwright/api/inventory/changes.ts'
import type { QueuedWrite } from './write.ts'

/**
 * The operation that a write belongs to. The history stores it with each change, so that the changes of a scan, an import or a
 * bulk edit are listed together. A write of a single asset belongs to no larger operation.
 */
export function causeOf(write: QueuedWrite): ChangeCause | undefined {
  const { id, kind, payload } = write
  switch (kind) {
    case 'put':
    case 'put-many':
    case 'put-whole':
      if (payload.cause !== undefined) return { id, ...payload.cause }
      if (payload.discovery !== undefined) return { kind: 'scan', id: payload.discovery.runId }
      return payload.items.length > 1 ? { kind: 'request', id } : undefined
    case 'import-rows':
      return { kind: 'import', id, ...payload.import }
    case 'patch':
      if (payload.cause !== undefined) return { id, ...payload.cause }
      return payload.items.length > 1 ? { kind: 'bulk_edit', id } : undefined
    case 'delete':
      return payload.ids.length > 1 ? { kind: 'bulk_edit', id } : undefined
    case 'merge':
    case 'undo-merge':
      return { kind: 'merge', id }
    case 'split':
      return undefined
  }
}
