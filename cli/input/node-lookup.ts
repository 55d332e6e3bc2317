import { pageLimits } from '@millwright/api/envelope.ts'
import { type HierarchyNode, hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { splitPath } from '@millwright/api/hierarchy-path.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Session } from '../session/session.ts'
import { isId, requireSingle } from './lookup.ts'

/** This file resolves hierarchies and nodes to ids. A node is named by its path, such as `Site 1/Line A`. */

/** Returns the id of a hierarchy. Without a name, the tenant must have only one hierarchy. */
export async function hierarchyId({ api }: Session, nameOrId: string | undefined): Promise<string> {
  if (nameOrId !== undefined && isId(nameOrId)) return nameOrId
  const { data } = await api(hierarchy).listHierarchies({ query: { limit: hierarchyLimits.hierarchies } })
  if (nameOrId !== undefined) {
    const matches = data.filter(({ name }) => name === nameOrId)
    return requireSingle('Hierarchy', nameOrId, { matches, list: 'millwright hierarchy list' })
  }
  const [first, second] = data
  if (first === undefined) {
    throw new CommandError('There is no hierarchy yet.', {
      exitCode: exitCodes.notFound,
      next: 'create one: millwright hierarchy create Plant --template plant',
    })
  }
  if (second === undefined) return first.id
  throw usageError(
    `There are several hierarchies: ${data.map(({ name }) => name).join(', ')}.`,
    'select one with --hierarchy',
  )
}

/** Returns the id of a node. A path is resolved in the given hierarchy, or else in the only hierarchy of the tenant. */
export async function nodeId(
  session: Session,
  pathOrId: string,
  { hierarchy: tree }: HierarchyOption,
): Promise<string> {
  if (isId(pathOrId)) return pathOrId
  const treeId = await hierarchyId(session, tree)
  const childNamed = async (parentId: string | undefined, name: string) => {
    const matches = (await childrenOf(session, treeId, parentId)).filter((child) => child.name === name)
    return requireSingle('Node', pathOrId, {
      matches,
      list: `millwright hierarchy tree ${JSON.stringify(tree ?? treeId)}`,
    })
  }
  const [first = '', ...below] = splitPath(pathOrId)
  let id = await childNamed(undefined, first)
  for (const name of below) id = await childNamed(id, name)
  return id
}

export type HierarchyOption = { hierarchy?: string | undefined }

async function childrenOf({ api }: Session, id: string, parentId: string | undefined): Promise<HierarchyNode[]> {
  const children: HierarchyNode[] = []
  let cursor: string | undefined
  do {
    const { data, meta } = await api(hierarchy).listNodes({
      params: { id },
      query: {
        limit: pageLimits.maximum,
        ...(parentId === undefined ? {} : { parentId }),
        ...(cursor === undefined ? {} : { cursor }),
      },
    })
    children.push(...data)
    cursor = meta.nextCursor
  } while (cursor !== undefined)
  return children
}
