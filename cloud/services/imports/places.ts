import { normalMac, parseParent } from '@millwright/api/asset-columns.ts'
import { hierarchy } from '@millwright/api/hierarchy.ts'
import { type AssetDocument, inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDenied } from '../../platform/access/permission-denied.ts'
import { may } from '../../platform/access/rights.ts'
import type { Context } from '../../platform/service.ts'
import type { RunningImport } from './import-progress.ts'
import type { NodePlace, ParentPlace } from './known-places.ts'
import { findNamedRows } from './row-store.ts'

/** Finds the parents and the nodes that rows name in the columns `Parent` and `Hierarchy path`. */

const pathsPerRequest = 1_000
/** The maximum number of parents and paths that are remembered. */
const mostKnown = 20_000

/** The maximum number of characters of a parent that an error repeats. */
const shownCharacters = 100

/** The permissions that an assignment to a node needs. */
const nodePermissions = ['glb_hierarchy_read', 'glb_hierarchy_write', 'glb_inventory_write_relation_data'] as const

/** Finds the nodes of paths, and remembers them for the next rows. A missing permission fails only the rows with a path. */
export async function findNodes(context: Context, { caller, places }: RunningImport, paths: readonly string[]) {
  const missing = nodePermissions.find((permission) => !may(caller, permission))
  if (missing !== undefined) {
    const denied = permissionDenied({ permission: missing })
    return new Map<string, NodePlace>(paths.map((path) => [path, denied]))
  }
  const unknown = [...new Set(paths)].filter((path) => !places.nodes.has(path))
  if (unknown.length > 0) {
    if (places.nodes.size + unknown.length > mostKnown) places.nodes.clear()
    for (let start = 0; start < unknown.length; start += pathsPerRequest) {
      const part = unknown.slice(start, start + pathsPerRequest)
      const { data } = await context.peers(hierarchy, caller).resolvePaths({ body: { data: { paths: part } } })
      for (const [index, path] of part.entries()) {
        const { hierarchyId, nodeId, detail } = data[index] ?? {}
        const found = hierarchyId !== undefined && nodeId !== undefined ? { hierarchyId, nodeId } : undefined
        places.nodes.set(path, found ?? new Problem('node_not_found', detail ?? `The path ${path} does not exist`))
      }
    }
  }
  return places.nodes
}

/** Finds the parents that texts name, and remembers them for the next rows. */
export async function findParents(context: Context, running: RunningImport, texts: readonly string[]) {
  const { caller, places, row } = running
  const unknown = [...new Set(texts)].filter((text) => !places.parents.has(text))
  if (unknown.length === 0) return places.parents
  if (places.parents.size + unknown.length > mostKnown) places.parents.clear()
  const parsed = unknown.map((text) => ({ cell: text, ...parseParent(text) }))
  const ids = parsed.flatMap(({ id }) => id ?? [])
  const existing = await existingAssets(context, caller, ids)
  const names = [...ids, ...parsed.map(({ text }) => normalMac(text))]
  const rows = await context.database.read(caller, (handle) => findNamedRows(handle, row.id, names))
  const rowsByName = Map.groupBy(rows, ({ name }) => name)
  const outside: { cell: string; text: string }[] = []
  for (const { cell, text, id } of parsed) {
    // An export of another tenant names assets by ids that only its own rows have.
    const [first, second] = rowsByName.get(id ?? '') ?? rowsByName.get(normalMac(text)) ?? []
    if (id !== undefined && existing.has(id)) places.parents.set(cell, { assetId: id })
    else if (first !== undefined && second !== undefined)
      places.parents.set(cell, ambiguous(text, `rows ${first.row} and ${second.row} of the file`))
    else if (first !== undefined) places.parents.set(cell, { row: first.row })
    else outside.push({ cell, text: text === '' ? cell : text })
  }
  const stored = await storedParents(context, caller, [...new Set(outside.map(({ text }) => text))])
  for (const { cell, text } of outside) places.parents.set(cell, stored.get(text) ?? notFound(text))
  return places.parents
}

/** Returns those of the ids whose assets exist and are readable. */
async function existingAssets(context: Context, caller: Caller, ids: readonly string[]): Promise<Set<string>> {
  const existing = new Set<string>()
  for (const group of groupsOf(ids)) {
    const filter = `id in (${group.map(literalOf).join(', ')})`
    const assets = await listed(context, caller, { filter, fields: 'id', limit: perFilter.texts })
    for (const { id } of assets instanceof Problem ? [] : assets) existing.add(String(id))
  }
  return existing
}

/** Finds assets by their name, MAC address or serial number. Returns what each text names, if it names an asset. */
async function storedParents(
  context: Context,
  caller: Caller,
  texts: readonly string[],
): Promise<Map<string, ParentPlace>> {
  const found = new Map<string, ParentPlace>()
  const rest = () => texts.filter((text) => !found.has(text))
  await findBy(context, caller, rest(), nameSearch, found)
  for (const text of rest().filter(isMac)) await findByMac(context, caller, text, found)
  await findBy(context, caller, rest(), serialSearch, found)
  return found
}

/** How assets are found by a text: the property of the filter, the field that contains it, and its value. */
type Search = { property: string; field: string; valueOf: (document: AssetDocument) => unknown }

const nameSearch: Search = { property: 'name', field: 'name', valueOf: ({ name }) => name }
const serialSearch: Search = {
  property: 'product_instance_information/serial_number',
  field: 'product_instance_information',
  valueOf: ({ product_instance_information: product }) =>
    (product as { serial_number?: string } | undefined)?.serial_number,
}

/** Texts that one filter contains. A filter has at most 4 KiB. */
const perFilter = { texts: 50, bytes: 3_000 } as const
/** If a filter finds this many assets, several of its texts may have further assets. Each text then has its own filter. */
const mostFound = 100

/** Finds assets by many texts at a time. Sets what each text names. */
async function findBy(
  context: Context,
  caller: Caller,
  texts: readonly string[],
  search: Search,
  found: Map<string, ParentPlace>,
): Promise<void> {
  for (const group of groupsOf(texts)) {
    const filter = `${search.property} in (${group.map(literalOf).join(', ')})`
    const assets = await listed(context, caller, { filter, fields: `id,${search.field}`, limit: mostFound })
    const isPartial = assets instanceof Problem ? assets.code === 'invalid_filter' : assets.length === mostFound
    if (isPartial && group.length > 1) {
      for (const text of group) await findBy(context, caller, [text], search, found)
    } else if (assets instanceof Problem) {
      // A text that cannot be part of a filter names no asset.
      if (assets.code !== 'invalid_filter') for (const text of group) found.set(text, assets)
    } else for (const [value, ofValue] of Map.groupBy(assets, search.valueOf)) setPlace(found, String(value), ofValue)
  }
}

async function findByMac(
  context: Context,
  caller: Caller,
  text: string,
  found: Map<string, ParentPlace>,
): Promise<void> {
  const filter = `asset_identifiers/any(i: i/mac_address eq '${normalMac(text)}')`
  const assets = await listed(context, caller, { filter, fields: 'id', limit: 2 })
  if (assets instanceof Problem) found.set(text, assets)
  else if (assets.length > 0) setPlace(found, text, assets)
}

function setPlace(found: Map<string, ParentPlace>, text: string, [first, second]: readonly AssetDocument[]): void {
  if (second !== undefined) found.set(text, ambiguous(text, 'several assets'))
  else if (first !== undefined) found.set(text, { assetId: String(first.id) })
}

/** Returns the readable assets of a filter, or the problem of a caller that cannot read assets. */
async function listed(
  { peers }: Context,
  caller: Caller,
  query: { filter: string; fields: string; limit: number },
): Promise<readonly AssetDocument[] | Problem> {
  try {
    return (await peers(inventory, caller).listAssets({ query: { ...query, count: false } })).data
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return error
    throw error
  }
}

/** Splits texts into groups that fit into one filter. A text that is too long for a filter names no asset. */
function groupsOf(texts: readonly string[]): string[][] {
  const groups: string[][] = []
  let bytes = 0
  for (const text of texts) {
    const size = Buffer.byteLength(literalOf(text)) + 2
    if (size > perFilter.bytes) continue
    const last = groups.at(-1)
    if (last === undefined || last.length === perFilter.texts || bytes + size > perFilter.bytes) {
      groups.push([text])
      bytes = size
    } else {
      last.push(text)
      bytes += size
    }
  }
  return groups
}

function literalOf(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function isMac(text: string): boolean {
  return /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(normalMac(text))
}

function notFound(text: string): Problem {
  const shown = text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text
  return new Problem(
    'asset_not_found',
    `No asset and no row of the file has the name, MAC address or serial number "${shown}". Correct the text, or leave the cell empty`,
  )
}

function ambiguous(text: string, where: string): Problem {
  return new Problem('conflict', `"${text}" names ${where}. Enter the MAC address of the parent, or its id, instead`)
}
