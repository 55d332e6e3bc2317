import { authorization } from '@millwright/api/authorization.ts'
import { identity } from '@millwright/api/identity.ts'
import { type AssetDocument, inventory } from '@millwright/api/inventory.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Session } from '../session/session.ts'

/** People type names, the API takes ids: what a name means is looked up here, and asked back when it means several. */

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isId(text: string): boolean {
  return uuid.test(text)
}

/** A text as a filter has it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

type Found = { id: string; name: string }

function theOne(kind: string, given: string, { found, list }: { found: readonly Found[]; list: string }): string {
  const [first, second] = found
  if (first === undefined) {
    throw new CommandError(`There is no ${kind} named "${given}".`, {
      exitCode: exitCodes.notFound,
      next: `${list} shows what there is`,
    })
  }
  if (second === undefined) return first.id
  throw usageError(
    `There are several ${kind}s named "${given}": ${found.map(({ id }) => id).join(', ')}.`,
    'say which one by its id',
  )
}

export async function assetId({ api }: Session, given: string): Promise<string> {
  if (isId(given)) return given
  const query = { filter: `name eq ${quoted(given)}`, fields: 'id', limit: 5, count: false }
  const { data } = await api(inventory).listAssets({ query })
  const found = data.map(({ id }) => ({ id: String(id), name: given }))
  return theOne('asset', given, { found, list: `millwright assets list -q ${JSON.stringify(given)}` })
}

export async function assetIds(session: Session, given: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const one of given) ids.push(await assetId(session, one))
  return [...new Set(ids)]
}

export async function readAsset(session: Session, given: string): Promise<AssetDocument> {
  const id = await assetId(session, given)
  return (await session.api(inventory).readAsset({ params: { id } })).data
}

export async function groupId({ api }: Session, given: string): Promise<string> {
  if (isId(given)) return given
  const { data } = await api(authorization).listAccessGroups({ query: { name: given, limit: 2 } })
  return theOne('access group', given, { found: data, list: 'millwright access groups list' })
}

/** A user, a server user or a gateway, by name. */
export async function principalId({ api }: Session, given: string): Promise<string> {
  if (isId(given)) return given
  const client = api(identity)
  const isSignInName = /^[a-z0-9][a-z0-9._-]{0,62}$/.test(given)
  const [users, programs] = await Promise.all([
    isSignInName ? client.listUsers({ query: { name: given, limit: 2 } }) : { data: [] },
    client.listServerUsers({ query: { name: given, limit: 2 } }),
  ])
  const found = [...users.data, ...programs.data]
  if (found.length > 0) return theOne('user or server user', given, { found, list: 'millwright access users list' })
  const gateways = await api(onboarding).listGateways({ query: { limit: 100 } })
  const named = gateways.data.filter(({ name }) => name === given)
  return theOne('user, service account or gateway', given, { found: named, list: 'millwright access users list' })
}

export async function userId({ api }: Session, given: string): Promise<string> {
  if (isId(given)) return given
  const { data } = await api(identity).listUsers({ query: { name: given, limit: 2 } })
  return theOne('user', given, { found: data, list: 'millwright access users list' })
}

export async function serverUserId({ api }: Session, given: string): Promise<string> {
  if (isId(given)) return given
  const { data } = await api(identity).listServerUsers({ query: { name: given, limit: 2 } })
  return theOne('server user', given, { found: data, list: 'millwright access server-users list' })
}

/** A gateway by name, or the only one there is. */
export async function gatewayId({ api }: Session, given: string | undefined): Promise<string> {
  if (given !== undefined && isId(given)) return given
  const { data } = await api(onboarding).listGateways({ query: { limit: 100 } })
  if (given !== undefined) {
    const found = data.filter(({ name }) => name === given)
    return theOne('gateway', given, { found, list: 'millwright gateway list' })
  }
  const usable = data.filter(({ state }) => state === 'online' || state === 'offline')
  const online = usable.filter(({ state }) => state === 'online')
  const [first, second] = online.length > 0 ? online : usable
  if (first === undefined) {
    throw new CommandError('There is no gateway yet.', {
      exitCode: exitCodes.notFound,
      next: 'bring one in: millwright gateway onboard "Hall 4"',
    })
  }
  if (second === undefined) return first.id
  throw usageError(
    `There are several gateways: ${usable.map(({ name }) => name).join(', ')}.`,
    'say which one with --gateway',
  )
}

export async function propertyKey({ api }: Session, given: string): Promise<string> {
  if (isId(given)) return given
  const found: Found[] = []
  for (let offset = 0, total = 1; offset < total; offset += 100) {
    const { data, meta } = await api(inventory).listCustomProperties({ query: { limit: 100, offset } })
    found.push(...data.filter(({ name }) => name === given).map(({ key, name }) => ({ id: key, name })))
    total = meta.totalElements ?? 0
  }
  return theOne('custom property', given, { found, list: 'millwright properties list' })
}
