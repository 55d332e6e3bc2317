import { pageLimits } from '@millwright/api/envelope.ts'
import {
  type HierarchyNode,
  hierarchy,
  hierarchyLimits,
  type TemplateName,
  templateNames,
} from '@millwright/api/hierarchy.ts'
import { type Command, Option } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { type HierarchyOption, hierarchyId, nodeId } from '../input/node-lookup.ts'
import { type AssetListOptions, listAssets, withListOptions } from '../inventory/asset-queries.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { type DeleteOptions, printDeletion, withDeleteOptions } from './deletion.ts'
import { withHierarchyOption } from './node-arguments.ts'

type CreateOptions = { description?: string; template?: TemplateName }

export function addHierarchies(command: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(command.command('list').description('list hierarchies, by name')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(hierarchy).listHierarchies({ query: { limit, offset } }),
      )
      await output.list(await pages, {
        columns: { id: 'id', name: 'name', template: 'template', nodes: 'nodeCount', description: 'description' },
        nothing: 'No hierarchies yet: millwright hierarchy create Plant --template plant',
      })
    },
  )

  platformCommand(
    command
      .command('create')
      .description('create a hierarchy')
      .argument('<name>')
      .addOption(
        new Option('--template <template>', 'levels that the types of nodes must follow').choices(templateNames),
      )
      .option('--description <text>', 'description'),
    terminal,
    async ({ api, output }, name: string, { description, template }: CreateOptions) => {
      const data = {
        name,
        ...(description === undefined ? {} : { description }),
        ...(template === undefined ? {} : { template }),
      }
      const answer = await api(hierarchy).createHierarchy({ body: { data } })
      await output.done(answer.data.id, answer)
    },
  )

  platformCommand(
    command
      .command('show')
      .description('show a hierarchy with its levels and its number of nodes')
      .argument('<hierarchy>', 'id or name'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await hierarchyId(session, nameOrId)
      await session.output.show(await session.api(hierarchy).readHierarchy({ params: { id } }))
    },
  )

  platformCommand(
    command
      .command('rename')
      .description('rename a hierarchy')
      .argument('<hierarchy>', 'id or name')
      .argument('<name>'),
    terminal,
    async (session, nameOrId: string, name: string) => {
      const id = await hierarchyId(session, nameOrId)
      const answer = await session.api(hierarchy).updateHierarchy({ params: { id }, body: { data: { name } } })
      await session.output.done(`${id} renamed to ${name}`, answer)
    },
  )

  platformCommand(
    withDeleteOptions(
      command
        .command('delete')
        .description('delete a hierarchy; assets stay, and so do their relations to its nodes')
        .argument('<hierarchy>', 'id or name'),
    ),
    terminal,
    async (session, nameOrId: string, options: DeleteOptions) => {
      const id = await hierarchyId(session, nameOrId)
      const { recursive = false } = options
      if (recursive) await confirm(session, `Delete the hierarchy ${nameOrId} with all nodes?`, options)
      const answer = await session.api(hierarchy).deleteHierarchy({ params: { id }, query: { recursive } })
      await printDeletion(session, id, answer)
    },
  )

  platformCommand(
    command
      .command('tree')
      .description('print the nodes as a tree, with the number of assets and their reachability, including below')
      .argument('<hierarchy>', 'id or name')
      .argument('[node]', 'id or path of the node to start with (default: the top level)')
      .option('--depth <count>', 'maximum number of levels below the start', wholeNumber(1, hierarchyLimits.levels), 3),
    terminal,
    printTree,
  )

  platformCommand(
    withListOptions(
      command
        .command('unassigned')
        .description('list assets without a node in a hierarchy')
        .argument('<hierarchy>', 'id or name'),
    ),
    terminal,
    async (session, nameOrId: string, options: AssetListOptions) =>
      listAssets(session, { unassignedIn: await hierarchyId(session, nameOrId) }, options),
  )

  platformCommand(
    withHierarchyOption(
      command.command('rebuild').description('compute the counts of all nodes again, in the background'),
    ),
    terminal,
    async (session, { hierarchy: nameOrId }: HierarchyOption) => {
      const id = await hierarchyId(session, nameOrId)
      const answer = await session.api(hierarchy).rebuildCounts({ params: { id } })
      await session.output.done(`Rebuild of the counts of ${nameOrId ?? id} accepted.`, answer)
    },
  )
}

const indent = '  '

async function printTree(
  session: Session,
  nameOrId: string,
  start: string | undefined,
  { depth }: { depth: number },
): Promise<void> {
  const id = await hierarchyId(session, nameOrId)
  const top = start === undefined ? undefined : await nodeId(session, start, { hierarchy: nameOrId })
  const root = top === undefined ? undefined : (await session.api(hierarchy).readNode({ params: { id: top } })).data
  const columns: Columns = {
    node: ({ name, level }) => `${indent.repeat(Number(level) - (root?.level ?? 0))}${name}`,
    type: 'type',
    children: 'childCount',
    assets: 'totalAssetCount',
    online: 'health.online',
    offline: 'health.offline',
    unknown: 'health.unknown',
  }
  const nothing = 'No nodes yet: millwright hierarchy node create "Site 1"'
  await session.output.list(treePages(session, { id, root, depth }), { columns, nothing })
}

type TreeRequest = { id: string; root: HierarchyNode | undefined; depth: number }

/**
 * Yields the nodes below `root`, or of the whole hierarchy without `root`, page by page and in the order of the tree.
 * The first page starts with `root`.
 */
async function* treePages({ api }: Session, { id, root, depth }: TreeRequest) {
  let cursor: string | undefined
  do {
    const page = await api(hierarchy).listNodes({
      params: { id },
      query: {
        depth,
        limit: pageLimits.maximum,
        ...(root === undefined ? {} : { parentId: root.id }),
        ...(cursor === undefined ? {} : { cursor }),
      },
    })
    yield cursor === undefined && root !== undefined ? { ...page, data: [root, ...page.data] } : page
    cursor = page.meta.nextCursor
  } while (cursor !== undefined)
}
