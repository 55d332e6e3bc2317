import { credentials } from '@millwright/api/credentials.ts'
import type { Command } from 'commander'
import { readJson } from '../input/json-input.ts'
import { assetId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

type UploadOptions = { product: string; productVersion: string; uri: string }

export function addSchemas(schemas: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(schemas.command('list').description('list credential types, newest first')).option(
      '--product <id>',
      'product id of the link',
    ),
    terminal,
    async ({ api, output }, { product, ...options }: PagingOptions & { product?: string }) => {
      const filters = product === undefined ? {} : { resourceIdentifier: product }
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(credentials).listSchemas({ query: { ...filters, limit, offset } }),
      )
      await output.list(await pages, {
        columns: {
          id: 'id',
          product: 'resourceIdentifier',
          version: 'resourceVersion',
          title: 'title',
          created: 'createdTimestamp',
        },
        nothing: 'No credential types yet: millwright credentials schemas from-link',
      })
    },
  )

  platformCommand(
    schemas.command('show').description('show a credential type').argument('<id>'),
    terminal,
    async ({ api, output }, schemaId: string) =>
      output.show(await api(credentials).getSchema({ params: { schemaId } })),
  )

  platformCommand(
    schemas
      .command('upload')
      .description('create a credential type from a JSON Schema')
      .argument('<file>', '- is standard input')
      .requiredOption('--product <id>', 'product id of the link')
      .requiredOption('--product-version <version>', 'version of the link')
      .requiredOption('--uri <uri>', 'URI that the link uses for the schema'),
    terminal,
    upload,
  )

  platformCommand(
    schemas
      .command('from-link')
      .description('import the credential type of a running link')
      .argument('<link>', 'id or name of the asset of the link')
      .option('--uri <uri>', 'URI of the schema, if the link has more than one'),
    terminal,
    async (session, link: string, { uri }: { uri?: string }) => {
      const data = { assetId: await assetId(session, link), ...(uri === undefined ? {} : { uri }) }
      const answer = await session.api(credentials).createSchemaFromLink({ body: { data } })
      await session.output.done(answer.data.id, answer)
    },
  )

  platformCommand(
    schemas.command('delete').description('delete a credential type without credentials').argument('<id>'),
    terminal,
    async ({ api, output }, schemaId: string) => {
      await api(credentials).deleteSchema({ params: { schemaId } })
      await output.done(`${schemaId} deleted`, { data: { schemaId } })
    },
  )
}

async function upload({ api, output, terminal }: Session, file: string, options: UploadOptions): Promise<void> {
  const schema = (await readJson(terminal, file)) as Record<string, unknown>
  const answer = await api(credentials).createSchema({
    query: { resourceIdentifier: options.product, resourceVersion: options.productVersion },
    body: { data: { uri: options.uri, schema } },
  })
  await output.done(answer.data.id, answer)
}
