import { inventory } from '@millwright/api/inventory.ts'
import type { Command } from 'commander'
import { jsonFrom } from '../input/json-input.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'

export function addCommands(schemas: Command, terminal: Terminal): void {
  online(
    paged(schemas.command('list').description('list asset schemas, built-in schemas first')),
    terminal,
    async ({ api, output }, options: Paging) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(inventory).listSchemas({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: { url: 'url', title: 'title', 'built in': 'builtIn' },
        nothing: 'No entries.',
      })
    },
  )

  online(
    schemas.command('show').description('show an asset schema with its document').argument('<url>'),
    terminal,
    async ({ api, output }, url: string) => output.show(await api(inventory).readSchema({ query: { url } })),
  )

  online(
    schemas
      .command('add')
      .description('upload a JSON Schema; its URL is never fetched')
      .argument('<url>', 'its name, as assets write it into functional_object_schema_url')
      .argument('<file>', 'the schema; - is standard input'),
    terminal,
    async ({ api, output }, url: string, file: string) => {
      const schema = (await jsonFrom(terminal, file)) as Record<string, unknown>
      const answer = await api(inventory).createSchema({ body: { data: { url, schema } } })
      await output.done(`${url} added`, answer)
    },
  )
}
