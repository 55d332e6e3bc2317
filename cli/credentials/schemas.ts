import { credentials } from '@millwright/api/credentials.ts'
import type { Command } from 'commander'
import { jsonFrom } from '../input/json-input.ts'
import { assetId } from '../input/lookup.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

type Upload = { product: string; productVersion: string; uri: string }

export function addSchemas(schemas: Command, terminal: Terminal): void {
  online(
    paged(schemas.command('list').description('list credential types, newest first')).option(
      '--product <id>',
      'of this link',
    ),
    terminal,
    async ({ api, output }, { product, ...options }: Paging & { product?: string }) => {
      const wanted = product === undefined ? {} : { resourceIdentifier: product }
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(credentials).listSchemas({ query: { ...wanted, limit, offset } }),
      )
      await output.list(await pages, {
        columns: {
          id: 'id',
          product: 'resourceIdentifier',
          version: 'resourceVersion',
          title: 'title',
          created: 'createdTimestamp',
        },
        nothing: 'There are none yet: millwright credentials schemas from-link',
      })
    },
  )

  online(
    schemas.command('show').description('show a credential type').argument('<id>'),
    terminal,
    async ({ api, output }, schemaId: string) =>
      output.show(await api(credentials).getSchema({ params: { schemaId } })),
  )

  online(
    schemas
      .command('upload')
      .description('upload a credential type as a JSON Schema')
      .argument('<file>', '- is standard input')
      .requiredOption('--product <id>', "the link's product id")
      .requiredOption('--product-version <version>', "the link's version")
      .requiredOption('--uri <uri>', 'the name of the schema in the link'),
    terminal,
    upload,
  )

  online(
    schemas
      .command('from-link')
      .description('import the credential type of a running link')
      .argument('<link>', 'id or name of its asset')
      .option('--uri <uri>', 'which schema, if the link has several'),
    terminal,
    async (session, link: string, { uri }: { uri?: string }) => {
      const data = { assetId: await assetId(session, link), ...(uri === undefined ? {} : { uri }) }
      const answer = await session.api(credentials).createSchemaFromLink({ body: { data } })
      await session.output.done(answer.data.id, answer)
    },
  )

  online(
    schemas.command('delete').description('delete a credential type without credentials').argument('<id>'),
    terminal,
    async ({ api, output }, schemaId: string) => {
      await api(credentials).deleteSchema({ params: { schemaId } })
      await output.done(`${schemaId} deleted`, { data: { schemaId } })
    },
  )
}

async function upload({ api, output, terminal }: Session, file: string, given: Upload): Promise<void> {
  const schema = (await jsonFrom(terminal, file)) as Record<string, unknown>
  const answer = await api(credentials).createSchema({
    query: { resourceIdentifier: given.product, resourceVersion: given.productVersion },
    body: { data: { uri: given.uri, schema } },
  })
  await output.done(answer.data.id, answer)
}
