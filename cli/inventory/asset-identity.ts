import { inventory } from '@millwright/api/inventory.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { confirm } from './asset-changes.ts'
import { outcomeOf, waiting } from './write-status.ts'

/** Which assets are one and the same. */
export function addIdentity(assets: Command, terminal: Terminal): void {
  online(
    assets
      .command('identifiers')
      .description('list the identifiers of an asset, lowest uncertainty first')
      .argument('<asset>'),
    terminal,
    async (session, given: string) => {
      const id = await assetId(session, given)
      await session.output.list(await session.api(inventory).readIdentifiers({ params: { id } }), {
        columns: {
          type: 'asset_identifier_type',
          uncertainty: 'identifier_uncertainty',
          value: ({ asset_identifier_type: _, identifier_uncertainty: __, ...rest }) =>
            Object.entries(rest).map(([name, value]) => `${name}=${value}`),
        },
        nothing: 'It has none.',
      })
    },
  )

  online(
    paged(assets.command('duplicates').description('list possible duplicates')),
    terminal,
    async ({ api, output }, options: Paging) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(inventory).listDuplicates({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          asset: 'asset.id',
          name: 'asset.name',
          other: 'other.id',
          'its name': 'other.name',
          'last seen': 'lastSeenTimestamp',
        },
        nothing: 'None is suspected.',
      })
    },
  )

  online(
    paged(
      assets
        .command('identity-conflicts')
        .description('list devices found under an identifier of an asset that their gateway cannot write'),
    ),
    terminal,
    async ({ api, output }, options: Paging) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(inventory).listIdentityConflicts({ query: { limit, offset } }),
      )
      await output.list(await pages, {
        columns: {
          asset: 'asset.id',
          name: 'asset.name',
          gateway: 'gateway.name',
          'reported name': 'deviceName',
          discovery: 'jobId',
          'last seen': 'lastSeenTimestamp',
        },
        nothing: 'There are no identity conflicts.',
      })
    },
  )

  online(
    assets
      .command('merge')
      .description('merge another asset into this one; can be undone')
      .argument('<asset>')
      .argument('<other>')
      .option('--yes', 'do not ask for confirmation'),
    terminal,
    merge,
  )
}

async function merge(session: Session, given: string, other: string, options: { yes?: boolean }): Promise<void> {
  const [id, otherId] = [await assetId(session, given), await assetId(session, other)]
  await confirm(session, `Make ${other} part of ${given}?`, options)
  const answer = await session.api(inventory).mergeAsset({
    params: { id },
    body: { data: { other: otherId } },
    headers: waiting,
  })
  const results = await outcomeOf(session, answer)
  await session.output.done(`${id} has everything of ${otherId} now`, { data: results[0] ?? {} })
}
