import { hierarchy } from '@millwright/api/hierarchy.ts'
import { joinPath } from '@millwright/api/hierarchy-path.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { assetId, assetIds } from '../input/lookup.ts'
import { type HierarchyOption, nodeId } from '../input/node-lookup.ts'
import { type AssetListOptions, listAssets, withListOptions } from '../inventory/asset-queries.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatCount } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { type AssignmentOptions, printAccepted, printResults, withWaitOption } from './assignment-progress.ts'
import { withNode } from './node-arguments.ts'

type AssignOptions = HierarchyOption & AssignmentOptions & { filter?: string; yes?: boolean }

export function addNodeAssets(command: Command, terminal: Terminal): void {
  platformCommand(
    withListOptions(withNode(command.command('assets').description('list the assets of a node'))).option(
      '--below',
      'also assets of all nodes below',
    ),
    terminal,
    async (session, pathOrId: string, options: AssetListOptions & HierarchyOption & { below?: boolean }) => {
      const hierarchyNode = await nodeId(session, pathOrId, options)
      await listAssets(session, { hierarchyNode, includeBelow: options.below === true }, options)
    },
  )

  platformCommand(
    withWaitOption(
      withNode(
        command
          .command('assign')
          .description('assign assets to a node; an asset with another node in the same hierarchy is moved'),
      )
        .argument('[assets...]', 'ids or names; or select assets with a filter')
        .option('--filter <filter>', 'filter, such as "startswith(name, \'Drive\')"; see docs/reference/filters.md')
        .option('--yes', 'do not ask for confirmation of --filter'),
    ),
    terminal,
    assign,
  ).addHelpText(
    'after',
    `
With --filter, the assignment runs in the background. --wait shows its progress until it ends. Ctrl-C stops the output, not
the assignment.

Examples:
  millwright hierarchy assign 'Site 1/Line A' 'Drive 12' 'Rack 1'
  millwright hierarchy assign 'Site 1/Line A' --filter "startswith(name, 'Drive')" --yes --wait`,
  )

  platformCommand(
    withNode(command.command('unassign').description('remove assets from a node'))
      .argument('<assets...>', 'ids or names')
      .option('--below', 'also remove them from the nodes below'),
    terminal,
    async (session, pathOrId: string, assets: string[], options: HierarchyOption & { below?: boolean }) => {
      const id = await nodeId(session, pathOrId, options)
      const data = { assetIds: await assetIds(session, assets), includeBelow: options.below === true }
      await printResults(session, await session.api(hierarchy).unassignAssets({ params: { id }, body: { data } }))
    },
  )

  platformCommand(
    command
      .command('of')
      .description('list the nodes of an asset, one per hierarchy')
      .argument('<asset>', 'id or name'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await assetId(session, nameOrId)
      await session.output.list(await session.api(hierarchy).listAssetPaths({ params: { id } }), {
        columns: {
          hierarchy: 'hierarchyName',
          path: ({ path }) => joinPath((path as { name: string }[]).map(({ name }) => name)),
        },
        nothing: 'The asset is not assigned to a node.',
      })
    },
  )

  platformCommand(
    command
      .command('cleanup')
      .description('delete the relations of assets that remain after the deletion of a node or a hierarchy')
      .argument('<id>', 'id of the deleted node or hierarchy'),
    terminal,
    cleanup,
  )
}

async function assign(session: Session, pathOrId: string, assets: string[], options: AssignOptions): Promise<void> {
  const { filter } = options
  if (assets.length > 0 && filter !== undefined) throw usageError('Assets and --filter cannot be combined.')
  const id = await nodeId(session, pathOrId, options)
  const client = session.api(hierarchy)
  if (filter === undefined) {
    if (assets.length === 0) throw usageError('No assets specified.', 'pass names or ids, or --filter')
    const data = { assetIds: await assetIds(session, assets) }
    const answer = await client.assignAssets({ params: { id }, body: { data } })
    if ('results' in answer.data) await printResults(session, { data: answer.data })
    return
  }
  const { meta } = await session.api(inventory).listAssets({ query: { filter, limit: 1, fields: 'id' } })
  const total = meta.totalElements ?? 0
  if (total === 0) return session.terminal.note('No asset matches.')
  await confirm(session, `Assign ${formatCount(total, 'asset')} to ${pathOrId}?`, options)
  const answer = await client.assignAssets({ params: { id }, body: { data: { filter } } })
  if ('state' in answer.data) await printAccepted(session, { data: answer.data }, options)
}

/**
 * Deletes the relations of assets to deleted nodes. One request deletes a limited number of relations, so the request
 * is repeated.
 */
async function cleanup(session: Session, id: string): Promise<void> {
  let deletedRelations = 0
  for (;;) {
    const { data } = await session.api(hierarchy).cleanupNode({ params: { id } })
    deletedRelations += data.deletedRelations
    const { remainingRelations } = data
    if (remainingRelations === 0 || data.deletedRelations === 0)
      return session.output.done(`${deletedRelations} deleted, ${remainingRelations} remain`, {
        data: { deletedRelations, remainingRelations },
      })
    session.terminal.progress(`${deletedRelations} deleted, ${remainingRelations} remain`)
  }
}
