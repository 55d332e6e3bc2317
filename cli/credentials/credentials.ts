import { credentials } from '@millwright/api/credentials.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addInstances, instanceColumns, instanceId } from './instances.ts'
import { addSchemas } from './schemas.ts'
import { addTemplates } from './templates.ts'

export function addCommands(command: Command, terminal: Terminal): void {
  addSchemas(
    command.command('schemas').description('credential types: the fields of the credentials of a link'),
    terminal,
  )
  addInstances(command.command('instances').description('credentials and their address ranges'), terminal)
  addTemplates(command.command('templates').description('monitoring sets: credentials for monitoring'), terminal)

  platformCommand(
    command
      .command('assign')
      .description('assign a copy of credentials from a monitoring set to an asset')
      .argument('<asset>')
      .argument('<instance>', 'id or name'),
    terminal,
    async (session, asset: string, instance: string) => {
      const params = { assetId: await assetId(session, asset), instanceId: await instanceId(session, instance) }
      const answer = await session.api(credentials).assignInstance({ params })
      await session.output.done(`Credentials ${answer.data.id} assigned to ${asset}`, answer)
    },
  )

  platformCommand(
    command
      .command('unassign')
      .description('delete the copy of an asset')
      .argument('<asset>')
      .argument('<instance>', 'id of the copy or of the original credentials'),
    terminal,
    async (session, asset: string, instance: string) => {
      const params = { assetId: await assetId(session, asset), instanceId: await instanceId(session, instance) }
      await session.api(credentials).unassignInstance({ params })
      await session.output.done(`Credentials removed from ${asset}`, { data: params })
    },
  )

  platformCommand(
    withPagingOptions(
      command.command('of').description('list the credentials of an asset, for all links').argument('<asset>'),
    ),
    terminal,
    async (session, asset: string, options: PagingOptions) => {
      const id = await assetId(session, asset)
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(credentials).listAssetInstances({ params: { assetId: id }, query: { limit, offset } }),
      )
      await session.output.list(await pages, {
        columns: { ...instanceColumns, assigned: 'assigned' },
        nothing: 'The asset has no credentials.',
      })
    },
  )

  platformCommand(
    command
      .command('where-used')
      .description('show monitoring sets, copies, successful logins and deliveries of credentials')
      .argument('<instance>', 'id or name'),
    terminal,
    whereUsed,
  )
}

async function whereUsed(session: Session, nameOrId: string): Promise<void> {
  const answer = await session
    .api(credentials)
    .readInstanceUsage({ params: { instanceId: await instanceId(session, nameOrId) } })
  if (Object.values(answer.data).every((entries) => entries.length === 0))
    return session.output.done('The credentials are not used.', answer)
  await session.output.show(answer)
}
