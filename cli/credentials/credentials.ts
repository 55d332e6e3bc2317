import { credentials } from '@millwright/api/credentials.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addInstances, instanceColumns, instanceId } from './instances.ts'
import { addSchemas } from './schemas.ts'
import { addTemplates } from './templates.ts'

export function addCommands(command: Command, terminal: Terminal): void {
  addSchemas(command.command('schemas').description('credential types of asset links'), terminal)
  addInstances(command.command('instances').description('credentials and their address ranges'), terminal)
  addTemplates(command.command('templates').description('monitoring sets: groups of credentials'), terminal)

  online(
    command
      .command('assign')
      .description('assign a copy of monitoring credentials to an asset')
      .argument('<asset>')
      .argument('<instance>', 'id or name'),
    terminal,
    async (session, asset: string, instance: string) => {
      const params = { assetId: await assetId(session, asset), instanceId: await instanceId(session, instance) }
      const answer = await session.api(credentials).assignInstance({ params })
      await session.output.done(`${asset} has ${answer.data.id}`, answer)
    },
  )

  online(
    command
      .command('unassign')
      .description('remove assigned credentials from an asset')
      .argument('<asset>')
      .argument('<instance>', 'id of the copy or of the original'),
    terminal,
    async (session, asset: string, instance: string) => {
      const params = { assetId: await assetId(session, asset), instanceId: await instanceId(session, instance) }
      await session.api(credentials).unassignInstance({ params })
      await session.output.done(`${asset} does not have it any more`, { data: params })
    },
  )

  online(
    paged(command.command('of').description('list the credentials of an asset').argument('<asset>')),
    terminal,
    async (session, asset: string, options: Paging) => {
      const id = await assetId(session, asset)
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(credentials).listAssetInstances({ params: { assetId: id }, query: { limit, offset } }),
      )
      await session.output.list(await pages, {
        columns: { ...instanceColumns, assigned: 'assigned' },
        nothing: 'It has none.',
      })
    },
  )

  online(
    command
      .command('where-used')
      .description('show where credentials are used: monitoring sets, copies, opened devices, deliveries')
      .argument('<instance>', 'id or name'),
    terminal,
    whereUsed,
  )
}

async function whereUsed(session: Session, given: string): Promise<void> {
  const answer = await session
    .api(credentials)
    .readInstanceUsage({ params: { instanceId: await instanceId(session, given) } })
  if (Object.values(answer.data).every((entries) => entries.length === 0))
    return session.output.done('It is not used.', answer)
  await session.output.show(answer)
}
