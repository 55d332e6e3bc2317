import { authorization } from '@millwright/api/authorization.ts'
import { identity } from '@millwright/api/identity.ts'
import { type AssetDocument, inventory } from '@millwright/api/inventory/inventory.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Session } from '../session/session.ts'

/**
 * This file resolves names of resources to ids, because people type names and the API takes ids. Ambiguous names are
 * errors.
 */

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isId(text: string): boolean {
  return uuid.test(text)
}

/** Quotes a text for the filter language. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

type NamedResource = { id: string; name: string }

/** Returns the id of the only match. Throws when there is no match or more than one. */
export function requireSingle(
  kind: string,
  nameOrId: string,
  { matches, list }: { matches: readonly NamedResource[]; list: string },
): string {
  const [first, second] = matches
  if (first === undefined) {
    throw new CommandError(`${kind} "${nameOrId}" not found.`, { exitCode: exitCodes.notFound, next: list })
  }
  if (second === undefined) return first.id
  throw usageError(
    `${kind} "${nameOrId}" is ambiguous: ${matches.map(({ id }) => id).join(', ')}.`,
    'pass the id instead of the name',
  )
}

export async function assetId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const query = { filter: `name eq ${quoted(nameOrId)}`, fields: 'id', limit: 5, count: false }
  const { data } = await api(inventory).listAssets({ query })
  const matches = data.map(({ id }) => ({ id: String(id), name: nameOrId }))
  return requireSingle('Asset', nameOrId, { matches, list: `millwright assets list -q ${JSON.stringify(nameOrId)}` })
}

export async function assetIds(session: Session, namesOrIds: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const nameOrId of namesOrIds) ids.push(await assetId(session, nameOrId))
  return [...new Set(ids)]
}

export async function readAsset(session: Session, nameOrId: string): Promise<AssetDocument> {
  const id = await assetId(session, nameOrId)
  return (await session.api(inventory).readAsset({ params: { id } })).data
}

export async function groupId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(authorization).listAccessGroups({ query: { name: nameOrId, limit: 2 } })
  return requireSingle('Access group', nameOrId, { matches: data, list: 'millwright access groups list' })
}

/** Returns the id of the user, service account or gateway with this name or id. */
export async function principalId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const client = api(identity)
  const [users, serviceAccounts] = await Promise.all([
    client.listUsers({ query: { name: nameOrId, limit: 2 } }),
    client.listServerUsers({ query: { name: nameOrId, limit: 2 } }),
  ])
  const matches = [...users.data, ...serviceAccounts.data]
  if (matches.length > 0)
    return requireSingle('User or service account', nameOrId, { matches, list: 'millwright access users list' })
  const gateways = await api(onboarding).listGateways({ query: { limit: 100 } })
  return requireSingle('User, service account or gateway', nameOrId, {
    matches: gateways.data.filter(({ name }) => name === nameOrId),
    list: 'millwright access users list',
  })
}

export async function userId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(identity).listUsers({ query: { name: nameOrId, limit: 2 } })
  return requireSingle('User', nameOrId, { matches: data, list: 'millwright access users list' })
}

export async function serverUserId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(identity).listServerUsers({ query: { name: nameOrId, limit: 2 } })
  return requireSingle('Service account', nameOrId, { matches: data, list: 'millwright access server-users list' })
}

/**
 * Returns the id of a gateway. Without a name, the tenant must have only one gateway. Offline gateways are not
 * considered if any gateway is online.
 */
export async function gatewayId({ api }: Session, nameOrId: string | undefined): Promise<string> {
  if (nameOrId !== undefined && isId(nameOrId)) return nameOrId
  const { data } = await api(onboarding).listGateways({ query: { limit: 100 } })
  if (nameOrId !== undefined) {
    const matches = data.filter(({ name }) => name === nameOrId)
    return requireSingle('Gateway', nameOrId, { matches, list: 'millwright gateway list' })
  }
  const usable = data.filter(({ state }) => state === 'online' || state === 'offline')
  const online = usable.filter(({ state }) => state === 'online')
  const [first, second] = online.length > 0 ? online : usable
  if (first === undefined) {
    throw new CommandError('There is no gateway yet.', {
      exitCode: exitCodes.notFound,
      next: 'register one: millwright gateway onboard "Hall 4"',
    })
  }
  if (second === undefined) return first.id
  throw usageError(
    `There are several gateways: ${usable.map(({ name }) => name).join(', ')}.`,
    'select one with --gateway',
  )
}

export async function propertyKey({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const matches: NamedResource[] = []
  for (let offset = 0, total = 1; offset < total; offset += 100) {
    const { data, meta } = await api(inventory).listCustomProperties({ query: { limit: 100, offset } })
    matches.push(...data.filter(({ name }) => name === nameOrId).map(({ key, name }) => ({ id: key, name })))
    total = meta.totalElements ?? 0
  }
  return requireSingle('Custom property', nameOrId, { matches, list: 'millwright properties list' })
}
