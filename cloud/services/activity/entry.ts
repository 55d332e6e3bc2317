import type { ActivityEntry } from '@millwright/api/activity.ts'
import type { AuditEntry } from '@millwright/api/audit.ts'
import type { AssetChange } from '@millwright/api/inventory/changes.ts'
import { isId } from '../../platform/database/id.ts'

/** Returns the entry of a change of an asset. `kinds` are the kinds of principals, by id. */
export function changeEntry(change: AssetChange, kinds: ReadonlyMap<string, string>): ActivityEntry {
  const { assetId, version, time, name, type, principal, principalName, source, changes, cause, group } = change
  const principalKind = principal === null ? undefined : kinds.get(principal)
  return {
    id: `asset.${assetId}.${version}`,
    time,
    principal,
    principalName,
    ...(principalKind === undefined ? {} : { principalKind }),
    action: change.change,
    outcome: 'done',
    object: {
      kind: 'asset',
      id: assetId,
      ...(name === null ? {} : { name }),
      ...(type === null ? {} : { type }),
    },
    source,
    changes,
    ...(cause === undefined ? {} : { cause }),
    ...(group === undefined ? {} : { group }),
  }
}

/** Returns the entry of an audit entry. `names` are the names of the ids in the target and the details, by id. */
export function auditEntry(entry: AuditEntry, names: ReadonlyMap<string, string>): ActivityEntry {
  const { id, time, action, outcome, principal, principalName, principalKind, detail } = entry
  const object = objectOf(entry, names)
  const known = idsIn(detail).flatMap((one) => {
    const name = names.get(one)
    return name === undefined ? [] : [[one, name]]
  })
  return {
    id: `audit.${id}`,
    time,
    principal,
    principalName,
    principalKind,
    action,
    outcome,
    ...(object === undefined ? {} : { object }),
    changes: [],
    detail,
    ...(known.length === 0 ? {} : { names: Object.fromEntries(known) }),
  }
}

/** Returns the kind and the id in the target of an audit entry. */
export function targetOf({ target }: Pick<AuditEntry, 'target'>): { kind: string; id: string } | undefined {
  const [, kind, id] = /^([a-z-]+)\/(.+)$/.exec(target ?? '') ?? []
  return kind === undefined || id === undefined ? undefined : { kind, id }
}

function objectOf(entry: AuditEntry, names: ReadonlyMap<string, string>): ActivityEntry['object'] {
  const target = targetOf(entry)
  if (target === undefined) return undefined
  const { detail } = entry
  const { name, fileName, title } = { ...recordOf(detail.after), ...detail } as Record<string, unknown>
  // An assignment has the name of its node.
  const node = target.kind === 'assignment' ? names.get(String(detail.nodeId)) : undefined
  const own = [names.get(target.id), name, fileName, title, node].find((text) => typeof text === 'string')
  const idAsName = isId(target.id) ? undefined : target.id
  const shown = own ?? idAsName
  return { ...target, ...(shown === undefined ? {} : { name: shown }) }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** Returns the ids among the values of a record, and the ids of the entities among them. */
export function idsIn(detail: Readonly<Record<string, unknown>>): string[] {
  const own = Object.values(detail).filter((value): value is string => typeof value === 'string' && isId(value))
  return [...own, ...entitiesIn(detail).map(({ id }) => id)]
}

/** Returns the entities among the values of a record: the assets and nodes of a relation, and the node of an assignment. */
export function entitiesIn(detail: Readonly<Record<string, unknown>>): { type: string; id: string }[] {
  const entities = Object.values(detail).flatMap((value) => {
    const { type, id } = recordOf(value)
    return typeof type === 'string' && typeof id === 'string' && isId(id) ? [{ type, id }] : []
  })
  const { nodeId } = detail
  return typeof nodeId === 'string' && isId(nodeId) ? [...entities, { type: 'node', id: nodeId }] : entities
}
