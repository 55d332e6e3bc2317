import { credentials } from '@millwright/api/credentials.ts'
import type { Command } from 'commander'
import { isId } from '../input/lookup.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { instanceColumns, instanceId } from './instances.ts'

export function addTemplates(templates: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(templates.command('list').description('list monitoring sets, by name')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(credentials).listInstancesTemplates({ query: { limit, offset } }),
      )
      await output.list(await pages, {
        columns: { id: 'id', name: 'name', credentials: 'instances', description: 'description' },
        nothing: 'No monitoring sets.',
      })
    },
  )

  platformCommand(
    templates
      .command('create')
      .description('create a monitoring set')
      .argument('<name>')
      .option('--description <text>', 'description'),
    terminal,
    async ({ api, output }, name: string, { description }: { description?: string }) => {
      const data = { name, ...(description === undefined ? {} : { description }) }
      const answer = await api(credentials).createInstancesTemplate({ body: { data } })
      await output.done(answer.data.id, answer)
    },
  )

  platformCommand(
    withPagingOptions(
      templates
        .command('show')
        .description('list the credentials of a monitoring set')
        .argument('<template>', 'id or name'),
    ),
    terminal,
    async (session, nameOrId: string, options: PagingOptions) => {
      const params = { instancesTemplateId: await templateId(session, nameOrId) }
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(credentials).listTemplateInstances({ params, query: { limit, offset } }),
      )
      await session.output.list(await pages, {
        columns: instanceColumns,
        nothing: 'The monitoring set has no credentials.',
      })
    },
  )

  for (const [name, operation, description] of [
    ['add', 'mapInstance', 'add credentials to a monitoring set'],
    ['remove', 'unmapInstance', 'remove credentials from a monitoring set'],
  ] as const) {
    platformCommand(
      templates.command(name).description(description).argument('<template>').argument('<instance>'),
      terminal,
      async (session, template: string, instance: string) => {
        const params = {
          instancesTemplateId: await templateId(session, template),
          instanceId: await instanceId(session, instance),
        }
        await session.api(credentials)[operation]({ params })
        await session.output.done(`${instance} ${name === 'add' ? 'added to' : 'removed from'} ${template}`, {
          data: params,
        })
      },
    )
  }

  platformCommand(
    templates.command('delete').description('delete a monitoring set; its credentials stay').argument('<template>'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await templateId(session, nameOrId)
      await session.api(credentials).deleteInstancesTemplate({ params: { instancesTemplateId: id } })
      await session.output.done(`${nameOrId} deleted`, { data: { id } })
    },
  )
}

/** Returns the id of a monitoring set. */
export async function templateId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(credentials).listInstancesTemplates({ query: { name: nameOrId, limit: 1 } })
  const [first] = data
  if (first !== undefined) return first.id
  throw new CommandError(`Monitoring set "${nameOrId}" not found.`, {
    exitCode: exitCodes.notFound,
    next: 'millwright credentials templates list',
  })
}
