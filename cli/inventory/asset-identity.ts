import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { assetId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { resultsOrThrow, waitHeaders } from './write-status.ts'

/** Adds the commands for identifiers, possible duplicates, identity conflicts and merges. */
export function addIdentity(assets: Command, terminal: Terminal): void {
  platformCommand(
    assets
      .command('identifiers')
      .description('list the identifiers of an asset, ordered by confidence')
      .argument('<asset>'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await assetId(session, nameOrId)
      await session.output.list(await session.api(inventory).readIdentifiers({ params: { id } }), {
        columns: {
          type: 'asset_identifier_type',
          uncertainty: 'identifier_uncertainty',
          value: ({ asset_identifier_type: _, identifier_uncertainty: __, ...rest }) =>
            Object.entries(rest).map(([name, value]) => `${name}=${value}`),
        },
        nothing: 'The asset has no identifiers.',
      })
    },
  )

  platformCommand(
    withPagingOptions(assets.command('duplicates').description('list possible duplicates')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(inventory).listDuplicates({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          asset: 'asset.id',
          name: 'asset.name',
          duplicate: 'other.id',
          'duplicate name': 'other.name',
          'last seen': 'lastSeenTimestamp',
        },
        nothing: 'No possible duplicates.',
      })
    },
  )

  platformCommand(
    withPagingOptions(
      assets
        .command('identity-conflicts')
        .description('list discovered devices whose identifier belongs to an asset that the gateway cannot write'),
    ),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(inventory).listIdentityConflicts({ query: { limit, offset } }),
      )
      await output.list(await pages, {
        columns: {
          asset: 'asset.id',
          name: 'asset.name',
          gateway: 'gateway.name',
          'reported name': 'deviceName',
          scan: 'jobId',
          'last seen': 'lastSeenTimestamp',
        },
        nothing: 'No identity conflicts.',
      })
    },
  )

  platformCommand(
    assets
      .command('merge')
      .description('merge another asset into this asset; a merge can be undone')
      .argument('<asset>')
      .argument('<other>')
      .option('--yes', 'do not ask for confirmation'),
    terminal,
    merge,
  )
}

async function merge(session: Session, nameOrId: string, other: string, options: { yes?: boolean }): Promise<void> {
  const [id, otherId] = [await assetId(session, nameOrId), await assetId(session, other)]
  await confirm(session, `Merge ${other} into ${nameOrId}?`, options)
  const answer = await session.api(inventory).mergeAsset({
    params: { id },
    body: { data: { other: otherId } },
    headers: waitHeaders,
  })
  const results = await resultsOrThrow(session, answer)
  await session.output.done(`${otherId} merged into ${id}`, { data: results[0] ?? {} })
}
