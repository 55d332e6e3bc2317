import { credentials } from '@millwright/api/credentials.ts'
import { type CredentialPurpose, credentialPurposes } from '@millwright/api/credentials-shapes.ts'
import { type Command, Option } from 'commander'
import { isId } from '../input/lookup.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { valuesFrom } from './values.ts'

export const instanceColumns: Columns = {
  id: 'id',
  name: 'name',
  product: 'resourceIdentifier',
  ranges: 'metadata.ipRanges',
  for: ({ metadata }) => (metadata as { purpose?: string }).purpose ?? 'both',
  changed: 'lastModifiedTimestamp',
}

type ListOptions = PagingOptions & { product?: string; address?: string; purpose?: CredentialPurpose }
type CreateOptions = { schema: string; range: string[]; purpose?: CredentialPurpose; set?: string[] }
type UpdateOptions = { name?: string; range?: string[]; set?: string[]; secrets?: boolean }

export function addInstances(instances: Command, terminal: Terminal): void {
  const purpose = () => new Option('--purpose <purpose>', 'purpose').choices(credentialPurposes)

  platformCommand(
    withPagingOptions(
      instances.command('list').description('list credentials without their secrets, last changed first'),
    )
      .option('--product <id>', 'product id of the link')
      .option('--address <address>', 'IP address that the credentials apply to')
      .addOption(purpose()),
    terminal,
    list,
  )

  platformCommand(
    instances
      .command('show')
      .description('show credentials without their secrets')
      .argument('<instance>', 'id or name'),
    terminal,
    async (session, nameOrId: string) =>
      session.output.show(
        await session.api(credentials).getInstance({ params: { instanceId: await instanceId(session, nameOrId) } }),
      ),
  )

  platformCommand(
    instances
      .command('create')
      .description('create credentials; the command prompts for secrets, or reads them as JSON from standard input')
      .argument('<name>')
      .requiredOption('--schema <id>', 'credential type')
      .requiredOption('--range <range>', 'IP range: 10.0.0.0/24, 10.0.1.5-10.0.1.9 or one address; repeatable', collect)
      .addOption(purpose())
      .option('--set <field=value>', 'field that is not secret; repeatable', collect),
    terminal,
    create,
  ).addHelpText(
    'after',
    `
Examples:
  millwright credentials instances create 'Hall 4' --schema <id> --range 10.0.4.0/24 --set user=admin
  pass show hall-4 | millwright credentials instances create 'Hall 4' --schema <id> --range 10.0.4.0/24`,
  )

  platformCommand(
    instances
      .command('update')
      .description('change credentials; fields that are not named keep their values')
      .argument('<instance>', 'id or name')
      .option('--name <name>', 'new name')
      .option('--range <range>', 'new IP range, replaces all ranges; repeatable', collect)
      .option('--set <field=value>', 'field that is not secret; repeatable', collect)
      .option('--secrets', 'prompt for new secrets, or read them as JSON from standard input'),
    terminal,
    update,
  )

  platformCommand(
    instances.command('delete').description('delete credentials with their secrets').argument('<instance>'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await instanceId(session, nameOrId)
      await session.api(credentials).deleteInstance({ params: { instanceId: id } })
      await session.output.done(`${nameOrId} deleted`, { data: { id } })
    },
  )

  platformCommand(
    withPagingOptions(
      instances.command('history').description('list changes with time, author and fields').argument('<instance>'),
    ),
    terminal,
    async (session, nameOrId: string, options: PagingOptions) => {
      const id = await instanceId(session, nameOrId)
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(credentials).listInstanceVersions({ params: { instanceId: id }, query: { limit, offset } }),
      )
      await session.output.list(await pages, {
        columns: { version: 'version', time: 'timestamp', change: 'change', by: 'changedBy', fields: 'fields' },
        nothing: 'No history.',
      })
    },
  )
}

export async function instanceId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(credentials).listInstances({ query: { name: nameOrId, assigned: false, limit: 2 } })
  const [first, second] = data
  if (first === undefined) {
    throw new CommandError(`Credentials "${nameOrId}" not found.`, {
      exitCode: exitCodes.notFound,
      next: 'millwright credentials instances list',
    })
  }
  if (second !== undefined)
    throw usageError(`Credentials "${nameOrId}" are ambiguous.`, 'pass the id instead of the name')
  return first.id
}

async function list({ api, output }: Session, { product, address, purpose, ...options }: ListOptions): Promise<void> {
  const filters = {
    ...(product === undefined ? {} : { resourceIdentifier: product }),
    ...(address === undefined ? {} : { address }),
    ...(purpose === undefined ? {} : { purpose }),
  }
  const pages = pagesOf(options, ({ limit, offset }) =>
    api(credentials).listInstances({ query: { ...filters, limit, offset } }),
  )
  await output.list(await pages, { columns: instanceColumns, nothing: 'No credentials.' })
}

async function create(
  session: Session,
  name: string,
  { schema: schemaId, range, purpose, set = [] }: CreateOptions,
): Promise<void> {
  const { data: schema } = await session.api(credentials).getSchema({ params: { schemaId } })
  const values = await valuesFrom(session.terminal, { schema: schema.schema, set })
  const metadata = { ipRanges: range, ...(purpose === undefined ? {} : { purpose }) }
  const answer = await session.api(credentials).createInstance({ body: { data: { schemaId, name, values, metadata } } })
  await session.output.done(answer.data.id, answer)
}

async function update(
  session: Session,
  nameOrId: string,
  { name, range, set = [], secrets }: UpdateOptions,
): Promise<void> {
  const id = await instanceId(session, nameOrId)
  const client = session.api(credentials)
  const { data: instance } = await client.getInstance({ params: { instanceId: id } })
  const { data: schema } = await client.getSchema({ params: { schemaId: instance.schemaId } })
  const silent: Terminal = { ...session.terminal, isInteractive: false, input: async () => '' }
  const values = await valuesFrom(secrets ? session.terminal : silent, { schema: schema.schema, set })
  const data = {
    ...(name === undefined ? {} : { name }),
    ...(range === undefined ? {} : { metadata: { ipRanges: range } }),
    ...(Object.keys(values).length === 0 ? {} : { values }),
  }
  if (Object.keys(data).length === 0)
    throw usageError('No change specified.', 'millwright credentials instances update --help')
  await session.output.done(
    `${nameOrId} updated`,
    await client.updateInstance({ params: { instanceId: id }, body: { data } }),
  )
}
