import { credentials } from '@millwright/api/credentials.ts'
import { type CredentialPurpose, credentialPurposes } from '@millwright/api/credentials-shapes.ts'
import { type Command, Option } from 'commander'
import { isId } from '../input/lookup.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { online, repeated } from '../session/platform-command.ts'
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

type ListOptions = Paging & { product?: string; address?: string; purpose?: CredentialPurpose }
type Create = { schema: string; range: string[]; purpose?: CredentialPurpose; set?: string[] }
type Update = { name?: string; range?: string[]; set?: string[]; secrets?: boolean }

export function addInstances(instances: Command, terminal: Terminal): void {
  const purpose = () => new Option('--purpose <purpose>', 'for this alone').choices(credentialPurposes)

  online(
    paged(instances.command('list').description('list credentials without their secrets, most recently changed first'))
      .option('--product <id>', 'for this link')
      .option('--address <address>', 'only credentials for this address')
      .addOption(purpose()),
    terminal,
    list,
  )

  online(
    instances
      .command('show')
      .description('show credentials without their secrets')
      .argument('<instance>', 'id or name'),
    terminal,
    async (session, given: string) =>
      session.output.show(
        await session.api(credentials).getInstance({ params: { instanceId: await instanceId(session, given) } }),
      ),
  )

  online(
    instances
      .command('create')
      .description('create credentials; prompts for secrets, or reads them as JSON from standard input')
      .argument('<name>')
      .requiredOption('--schema <id>', 'the credential type')
      .requiredOption('--range <range>', 'address range: 10.0.0.0/24, 10.0.1.5-10.0.1.9 or a single address', repeated)
      .addOption(purpose())
      .option('--set <field=value>', 'a field that is not secret', repeated),
    terminal,
    create,
  ).addHelpText(
    'after',
    `
Examples:
  millwright credentials instances create 'Hall 4' --schema <id> --range 10.0.4.0/24 --set user=admin
  pass show hall-4 | millwright credentials instances create 'Hall 4' --schema <id> --range 10.0.4.0/24`,
  )

  online(
    instances
      .command('update')
      .description('change credentials; other fields and secrets stay unchanged')
      .argument('<instance>', 'id or name')
      .option('--name <name>', 'another name')
      .option('--range <range>', 'new address ranges, replacing all existing ones', repeated)
      .option('--set <field=value>', 'a field that is not secret', repeated)
      .option('--secrets', 'prompt for new secrets, or read them as JSON from standard input'),
    terminal,
    update,
  )

  online(
    instances.command('delete').description('delete credentials with their secrets').argument('<instance>'),
    terminal,
    async (session, given: string) => {
      const id = await instanceId(session, given)
      await session.api(credentials).deleteInstance({ params: { instanceId: id } })
      await session.output.done(`${given} deleted`, { data: { id } })
    },
  )

  online(
    paged(instances.command('history').description('show who changed which fields').argument('<instance>')),
    terminal,
    async (session, given: string, options: Paging) => {
      const id = await instanceId(session, given)
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(credentials).listInstanceVersions({ params: { instanceId: id }, query: { limit, offset } }),
      )
      await session.output.list(await pages, {
        columns: { version: 'version', time: 'timestamp', change: 'change', by: 'changedBy', fields: 'fields' },
        nothing: 'Nothing is known of its past.',
      })
    },
  )
}

export async function instanceId({ api }: Session, given: string): Promise<string> {
  if (isId(given)) return given
  const { data } = await api(credentials).listInstances({ query: { name: given, assigned: false, limit: 2 } })
  const [first, second] = data
  if (first === undefined) {
    throw new CommandError(`There are no credentials named "${given}".`, {
      exitCode: exitCodes.notFound,
      next: 'millwright credentials instances list shows what there is',
    })
  }
  if (second !== undefined) throw usageError(`There are several credentials named "${given}".`, 'say which by their id')
  return first.id
}

async function list({ api, output }: Session, { product, address, purpose, ...options }: ListOptions): Promise<void> {
  const wanted = {
    ...(product === undefined ? {} : { resourceIdentifier: product }),
    ...(address === undefined ? {} : { address }),
    ...(purpose === undefined ? {} : { purpose }),
  }
  const pages = pagesOf(options, ({ limit, offset }) =>
    api(credentials).listInstances({ query: { ...wanted, limit, offset } }),
  )
  await output.list(await pages, { columns: instanceColumns, nothing: 'No entries.' })
}

async function create(
  session: Session,
  name: string,
  { schema: schemaId, range, purpose, set = [] }: Create,
): Promise<void> {
  const { data: schema } = await session.api(credentials).getSchema({ params: { schemaId } })
  const values = await valuesFrom(session.terminal, { schema: schema.schema, set })
  const metadata = { ipRanges: range, ...(purpose === undefined ? {} : { purpose }) }
  const answer = await session.api(credentials).createInstance({ body: { data: { schemaId, name, values, metadata } } })
  await session.output.done(answer.data.id, answer)
}

async function update(session: Session, given: string, { name, range, set = [], secrets }: Update): Promise<void> {
  const id = await instanceId(session, given)
  const client = session.api(credentials)
  const { data: instance } = await client.getInstance({ params: { instanceId: id } })
  const { data: schema } = await client.getSchema({ params: { schemaId: instance.schemaId } })
  const silent: Terminal = { ...session.terminal, canAsk: false, input: async () => '' }
  const values = await valuesFrom(secrets ? session.terminal : silent, { schema: schema.schema, set })
  const data = {
    ...(name === undefined ? {} : { name }),
    ...(range === undefined ? {} : { metadata: { ipRanges: range } }),
    ...(Object.keys(values).length === 0 ? {} : { values }),
  }
  if (Object.keys(data).length === 0)
    throw usageError('Say what to change.', 'millwright credentials instances update --help')
  await session.output.done(
    `${given} updated`,
    await client.updateInstance({ params: { instanceId: id }, body: { data } }),
  )
}
