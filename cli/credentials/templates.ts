import { credentials } from '@millwright/api/credentials.ts'
import type { Command } from 'commander'
import { isId } from '../input/lookup.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { instanceColumns, instanceId } from './instances.ts'

export function addTemplates(templates: Command, terminal: Terminal): void {
  online(
    paged(templates.command('list').description('list monitoring sets by name')),
    terminal,
    async ({ api, output }, options: Paging) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(credentials).listInstancesTemplates({ query: { limit, offset } }),
      )
      await output.list(await pages, {
        columns: { id: 'id', name: 'name', instances: 'instances', description: 'description' },
        nothing: 'No entries.',
      })
    },
  )

  online(
    templates
      .command('create')
      .description('create a monitoring set')
      .argument('<name>')
      .option('--description <text>', 'what it is for'),
    terminal,
    async ({ api, output }, name: string, { description }: { description?: string }) => {
      const data = { name, ...(description === undefined ? {} : { description }) }
      const answer = await api(credentials).createInstancesTemplate({ body: { data } })
      await output.done(answer.data.id, answer)
    },
  )

  online(
    paged(
      templates
        .command('show')
        .description('show the credentials of a monitoring set')
        .argument('<template>', 'id or name'),
    ),
    terminal,
    async (session, given: string, options: Paging) => {
      const params = { instancesTemplateId: await templateId(session, given) }
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(credentials).listTemplateInstances({ params, query: { limit, offset } }),
      )
      await session.output.list(await pages, { columns: instanceColumns, nothing: 'It has none.' })
    },
  )

  for (const [name, operation, description] of [
    ['add', 'mapInstance', 'add credentials to a monitoring set'],
    ['remove', 'unmapInstance', 'remove credentials from a monitoring set'],
  ] as const) {
    online(
      templates.command(name).description(description).argument('<template>').argument('<instance>'),
      terminal,
      async (session, template: string, instance: string) => {
        const params = {
          instancesTemplateId: await templateId(session, template),
          instanceId: await instanceId(session, instance),
        }
        await session.api(credentials)[operation]({ params })
        await session.output.done(`${instance} is ${name === 'add' ? 'in' : 'out of'} ${template}`, { data: params })
      },
    )
  }

  online(
    templates.command('delete').description('delete a monitoring set; its credentials stay').argument('<template>'),
    terminal,
    async (session, given: string) => {
      const id = await templateId(session, given)
      await session.api(credentials).deleteInstancesTemplate({ params: { instancesTemplateId: id } })
      await session.output.done(`${given} deleted`, { data: { id } })
    },
  )
}

async function templateId({ api }: Session, given: string): Promise<string> {
  if (isId(given)) return given
  const { data } = await api(credentials).listInstancesTemplates({ query: { name: given, limit: 1 } })
  const [first] = data
  if (first !== undefined) return first.id
  throw new CommandError(`There is no template named "${given}".`, {
    exitCode: exitCodes.notFound,
    next: 'millwright credentials templates list shows what there is',
  })
}
