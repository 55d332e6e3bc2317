import { inventory, propertyTypes } from '@millwright/api/inventory.ts'
import { type Command, Option } from 'commander'
import { propertyKey } from '../input/lookup.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'

const columns: Columns = { key: 'key', name: 'name', type: 'data_type', created: 'createdTimestamp' }

export function addCommands(properties: Command, terminal: Terminal): void {
  online(
    paged(properties.command('list').description('list custom properties by name')),
    terminal,
    async ({ api, output }, options: Paging) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(inventory).listCustomProperties({ query: { limit, offset } }),
      )
      await output.list(await pages, { columns, nothing: 'There are none yet: millwright properties create' })
    },
  )

  online(
    properties
      .command('create')
      .description('create a custom property; set its values with "assets update --property"')
      .argument('<name>')
      .addOption(new Option('--type <type>', 'what its values are').choices(propertyTypes).default('text')),
    terminal,
    async ({ api, output }, name: string, { type }: { type: (typeof propertyTypes)[number] }) => {
      const answer = await api(inventory).createCustomProperty({ body: { data: { name, data_type: type } } })
      await output.done(answer.data.key, answer)
    },
  )

  online(
    properties.command('rename').description('rename a custom property').argument('<property>').argument('<name>'),
    terminal,
    async (session, given: string, name: string) => {
      const key = await propertyKey(session, given)
      const answer = await session.api(inventory).updateCustomProperty({ params: { key }, body: { data: { name } } })
      await session.output.done(`${key} is ${name} now`, answer)
    },
  )
}
