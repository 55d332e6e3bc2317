import { inventory, propertyTypes } from '@millwright/api/inventory/inventory.ts'
import { type Command, Option } from 'commander'
import { propertyKey } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'

const columns: Columns = { key: 'key', name: 'name', type: 'data_type', created: 'createdTimestamp' }

export function addCommands(properties: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(properties.command('list').description('list custom properties, by name')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(inventory).listCustomProperties({ query: { limit, offset } }),
      )
      await output.list(await pages, { columns, nothing: 'No custom properties yet: millwright properties create' })
    },
  )

  platformCommand(
    properties
      .command('create')
      .description('create a custom property; set values with "assets update --property"')
      .argument('<name>')
      .addOption(new Option('--type <type>', 'type of the values').choices(propertyTypes).default('text')),
    terminal,
    async ({ api, output }, name: string, { type }: { type: (typeof propertyTypes)[number] }) => {
      const answer = await api(inventory).createCustomProperty({ body: { data: { name, data_type: type } } })
      await output.done(answer.data.key, answer)
    },
  )

  platformCommand(
    properties.command('rename').description('rename a custom property').argument('<property>').argument('<name>'),
    terminal,
    async (session, nameOrId: string, name: string) => {
      const key = await propertyKey(session, nameOrId)
      const answer = await session.api(inventory).updateCustomProperty({ params: { key }, body: { data: { name } } })
      await session.output.done(`${key} renamed to ${name}`, answer)
    },
  )
}
