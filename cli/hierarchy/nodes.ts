import { pageLimits } from '@millwright/api/envelope.ts'
import { hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { joinPath } from '@millwright/api/hierarchy-path.ts'
import { type Command, Option } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { parsePair } from '../input/json-input.ts'
import { type HierarchyOption, hierarchyId, nodeId } from '../input/node-lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatCount } from '../output/text.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { type DeleteOptions, printDeletion, withDeleteOptions } from './deletion.ts'
import { NodePaths, withHierarchyOption, withNode } from './node-arguments.ts'

type CreateOptions = HierarchyOption & { parent?: string; type?: string; property?: string[]; position?: number }
type UpdateOptions = HierarchyOption & { name?: string; type?: string; property?: string[] }
type PlaceOptions = HierarchyOption & { parent?: string; top?: boolean; position?: number }
type SearchOptions = HierarchyOption & { below?: string; limit: number; all?: boolean }

export function addNodes(command: Command, terminal: Terminal): void {
  const node = command.command('node').description('nodes of a hierarchy')
  addChanges(node, terminal)

  platformCommand(
    withNode(node.command('show').description('show a node with the counts of its assets, including below')),
    terminal,
    async (session, pathOrId: string, options: HierarchyOption) => {
      const id = await nodeId(session, pathOrId, options)
      await session.output.show(await session.api(hierarchy).readNode({ params: { id } }))
    },
  )

  platformCommand(
    withNode(node.command('path').description('print the path of a node from the top level')),
    terminal,
    async (session, pathOrId: string, options: HierarchyOption) => {
      const id = await nodeId(session, pathOrId, options)
      const answer = await session.api(hierarchy).readPath({ params: { id } })
      await session.output.done(joinPath(answer.data.map(({ name }) => name)), answer)
    },
  )

  platformCommand(
    withPagingOptions(withNode(node.command('history').description('list the moves of a node, newest first'))),
    terminal,
    history,
  )

  platformCommand(
    withHierarchyOption(
      command.command('search').description('list nodes whose name contains a text').argument('<text>'),
    )
      .option('--below <node>', 'only below this node')
      .option('--limit <count>', 'maximum number of nodes', wholeNumber(1, pageLimits.maximum), 50)
      .option('--all', 'read all pages'),
    terminal,
    search,
  )
}

function addChanges(node: Command, terminal: Terminal): void {
  const position = () =>
    new Option('--position <number>', 'place among its siblings, from 0 (default: the last)').argParser(
      wholeNumber(0, hierarchyLimits.nodesPerHierarchy),
    )
  const withPlace = (command: Command) =>
    withNode(command)
      .addOption(new Option('--parent <node>', 'id or path of the new parent').conflicts('top'))
      .option('--top', 'to the top level')
      .addOption(position())

  platformCommand(
    withHierarchyOption(node.command('create').description('create a node').argument('<name>'))
      .option('--parent <node>', 'id or path of the parent (default: the top level)')
      .option('--type <type>', 'type, such as site or line (default with a template: the next level)')
      .option('--property <name=value>', 'property; repeatable', collect)
      .addOption(position()),
    terminal,
    create,
  )

  platformCommand(
    withNode(node.command('update').description('change a node; properties that are not named keep their values'))
      .option('--name <name>', 'new name')
      .option('--type <type>', 'new type; an empty text removes it')
      .option('--property <name=value>', 'property; an empty value removes it; repeatable', collect),
    terminal,
    update,
  )

  platformCommand(
    withPlace(node.command('move').description('move a node with all nodes below, or change its place')),
    terminal,
    async (session, pathOrId: string, options: PlaceOptions) => {
      const id = await nodeId(session, pathOrId, options)
      const data = await placeOf(session, options)
      if (Object.keys(data).length === 0)
        throw usageError('No new place specified.', 'pass --parent, --top or --position')
      const answer = await session.api(hierarchy).moveNode({ params: { id }, body: { data } })
      await session.output.done(`${id} moved`, answer)
    },
  )

  platformCommand(
    withPlace(
      node
        .command('copy')
        .description('copy a node with all nodes below, by default next to it; assets are not copied'),
    ).option('--name <name>', 'name of the copy'),
    terminal,
    async (session, pathOrId: string, { name, ...options }: PlaceOptions & { name?: string }) => {
      const id = await nodeId(session, pathOrId, options)
      const data = { ...(await placeOf(session, options)), ...(name === undefined ? {} : { name }) }
      const answer = await session.api(hierarchy).copyNode({ params: { id }, body: { data } })
      const { node: copy, copiedNodes } = answer.data
      await session.output.done(`${copy.id} created, ${formatCount(copiedNodes, 'node')} in total`, answer)
    },
  )

  platformCommand(
    withDeleteOptions(
      withNode(node.command('delete').description('delete a node; assets stay, and so do their relations to it')),
    ),
    terminal,
    async (session, pathOrId: string, options: HierarchyOption & DeleteOptions) => {
      const id = await nodeId(session, pathOrId, options)
      const { recursive = false } = options
      if (recursive) await confirm(session, `Delete the node ${pathOrId} with all nodes below?`, options)
      const answer = await session.api(hierarchy).deleteNode({ params: { id }, query: { recursive } })
      await printDeletion(session, id, answer)
    },
  )
}

async function create(session: Session, name: string, options: CreateOptions): Promise<void> {
  const { parent, type, property, position } = options
  const parentId = parent === undefined ? undefined : await nodeId(session, parent, options)
  const id = await treeOf(session, parentId, options)
  const data = {
    name,
    ...(parentId === undefined ? {} : { parentId }),
    ...(type === undefined ? {} : { type }),
    ...(property === undefined ? {} : { properties: propertiesOf(property) }),
    ...(position === undefined ? {} : { position }),
  }
  const answer = await session.api(hierarchy).createNode({ params: { id }, body: { data } })
  await session.output.done(answer.data.id, answer)
}

/** Returns the hierarchy of a new node. Without the option `--hierarchy`, it is the hierarchy of the parent. */
async function treeOf(session: Session, parentId: string | undefined, options: HierarchyOption): Promise<string> {
  if (options.hierarchy !== undefined || parentId === undefined) return hierarchyId(session, options.hierarchy)
  return (await session.api(hierarchy).readNode({ params: { id: parentId } })).data.hierarchyId
}

function propertiesOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(pairs.map((text) => parsePair(text, '--property')))
}

async function update(session: Session, pathOrId: string, options: UpdateOptions): Promise<void> {
  const { name, type, property = [] } = options
  const id = await nodeId(session, pathOrId, options)
  const client = session.api(hierarchy)
  const data = {
    ...(name === undefined ? {} : { name }),
    ...(type === undefined ? {} : { type: type === '' ? null : type }),
  }
  if (property.length === 0 && Object.keys(data).length === 0)
    throw usageError('No change specified.', 'millwright hierarchy node update --help')
  if (property.length === 0) {
    const answer = await client.updateNode({ params: { id }, body: { data } })
    return session.output.done(`${id} updated`, answer)
  }
  // An update replaces all properties, so the new properties are merged with the existing ones. The ETag prevents the
  // loss of a property that another request adds in the meantime.
  let etag: string | undefined
  const { data: before } = await client.readNode({ params: { id } }, ({ headers }) => {
    etag = headers.get('etag') ?? undefined
  })
  const merged = { ...before.properties, ...propertiesOf(property) }
  const properties = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== ''))
  const answer = await client.updateNode({
    params: { id },
    headers: { 'if-match': etag },
    body: { data: { ...data, properties } },
  })
  await session.output.done(`${id} updated`, answer)
}

async function placeOf(session: Session, { parent, top, position, ...options }: PlaceOptions) {
  return {
    ...(parent === undefined ? {} : { parentId: await nodeId(session, parent, options) }),
    ...(top ? { parentId: null } : {}),
    ...(position === undefined ? {} : { position }),
  }
}

async function history(session: Session, pathOrId: string, options: PagingOptions & HierarchyOption): Promise<void> {
  const id = await nodeId(session, pathOrId, options)
  const paths = new NodePaths(session)
  const pages = pagesOf(options, async ({ limit, offset }) => {
    const page = await session.api(hierarchy).listMoves({ params: { id }, query: { limit, offset } })
    const parents = page.data.flatMap(({ fromParentId, toParentId }) => [fromParentId, toParentId])
    if (session.output.isText) await paths.read(parents.filter((parent) => parent !== null))
    return page
  })
  const parentText = (parentId: unknown) => (parentId === null ? '(top level)' : paths.of(String(parentId)))
  await session.output.list(await pages, {
    columns: {
      time: 'time',
      by: 'principalName',
      from: ({ fromParentId }) => parentText(fromParentId),
      'from position': 'fromPosition',
      to: ({ toParentId }) => parentText(toParentId),
      'to position': 'toPosition',
    },
    nothing: 'The node was never moved.',
  })
}

async function search(session: Session, text: string, { below, limit, all, ...options }: SearchOptions): Promise<void> {
  const id = await hierarchyId(session, options.hierarchy)
  const parentId = below === undefined ? undefined : await nodeId(session, below, { hierarchy: id })
  const paths = new NodePaths(session)
  const readPage = async (cursor: string | undefined) => {
    const query = {
      q: text,
      limit: all ? pageLimits.maximum : limit,
      ...(parentId === undefined ? {} : { parentId }),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const page = await session.api(hierarchy).listNodes({ params: { id }, query })
    if (session.output.isText) await paths.read(page.data.map((node) => node.id))
    return page
  }
  let next: string | undefined
  const pages = async function* () {
    do {
      const page = await readPage(next)
      yield page
      next = page.meta.nextCursor
    } while (next !== undefined && all)
  }
  await session.output.list(pages(), {
    columns: { id: 'id', path: (row) => paths.of(String(row.id)), type: 'type', assets: 'totalAssetCount' },
    nothing: 'No node matches.',
  })
  if (next !== undefined) session.terminal.note('More nodes match. To show all, pass --all.')
}
