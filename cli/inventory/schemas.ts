import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Command } from 'commander'
import { readJson } from '../input/json-input.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'

export function addCommands(schemas: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(schemas.command('list').description('list asset schemas, built-in schemas first')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(inventory).listSchemas({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: { url: 'url', title: 'title', 'built in': 'builtIn' },
        nothing: 'No asset schemas.',
      })
    },
  )

  platformCommand(
    schemas.command('show').description('show an asset schema with its document').argument('<url>'),
    terminal,
    async ({ api, output }, url: string) => output.show(await api(inventory).readSchema({ query: { url } })),
  )

  platformCommand(
    schemas
      .command('add')
      .description('add a custom JSON Schema; the platform never fetches its URL')
      .argument('<url>', 'URL of the schema, as in functional_object_schema_url of assets')
      .argument('<file>', 'file with the schema; - is standard input'),
    terminal,
    async ({ api, output }, url: string, file: string) => {
      const schema = (await readJson(terminal, file)) as Record<string, unknown>
      const answer = await api(inventory).createSchema({ body: { data: { url, schema } } })
      await output.done(`${url} added`, answer)
    },
  )
}
