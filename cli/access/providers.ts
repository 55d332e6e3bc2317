import { identity } from '@millwright/api/identity.ts'
import { type IdentityProvider, providerLimits } from '@millwright/api/identity-providers.ts'
import { type Command, Option } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { groupId, isId, requireSingle } from '../input/lookup.ts'
import { CommandError, usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { groupNames } from './group-names.ts'

type FieldOptions = {
  title?: string
  scope?: string[]
  nameClaim?: string
  groupsClaim?: string
  administrators?: 'allow' | 'refuse'
  apiAudience?: string
}

/** Adds the commands for identity providers (OpenID Connect). */
export function addProviders(providers: Command, terminal: Terminal): void {
  addQueries(providers, terminal)
  addChanges(providers, terminal)
  addMappings(providers, terminal)
}

function addQueries(providers: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(providers.command('list').description('list identity providers, by name')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(identity).listIdentityProviders({ query: { limit, offset } }),
      )
      await output.list(await pages, {
        columns: {
          name: 'name',
          title: 'title',
          issuer: 'issuer',
          'client id': 'clientId',
          mappings: ({ mappings }) => (mappings as unknown[]).length,
          disabled: 'disabled',
        },
        nothing: 'No identity providers. To add one: millwright access providers create',
      })
    },
  )

  platformCommand(
    providers
      .command('show')
      .description('show an identity provider and its mappings')
      .argument('<provider>', 'id or name'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await providerId(session, nameOrId)
      const answer = await session.api(identity).readIdentityProvider({ params: { id } })
      if (!session.output.isText) return session.output.show(answer)
      const names = await groupNames(session)
      const mappings = answer.data.mappings.map(({ value, role, accessGroup = null }) => ({
        value,
        role,
        'access group': accessGroup === null ? 'all' : (names.get(accessGroup) ?? accessGroup),
      }))
      await session.output.show({ data: { ...answer.data, mappings } })
    },
  )

  platformCommand(
    providers
      .command('check')
      .description('connect to an identity provider, and check its configuration and keys')
      .argument('<provider>', 'id or name'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await providerId(session, nameOrId)
      const answer = await session.api(identity).checkIdentityProvider({ params: { id } })
      const { isUsable, problems, endpoints } = answer.data
      if (!session.output.isText) await session.output.show(answer)
      else if (isUsable) await session.output.show({ data: { ...endpoints, problems } })
      if (!isUsable) throw new CommandError(`${nameOrId} is not usable: ${problems.join(' ')}`)
    },
  )
}

function withFieldOptions(command: Command): Command {
  return command
    .option('--title <title>', 'text of the button on the sign-in page')
    .option('--scope <scope>', `scope in addition to openid; repeatable, up to ${providerLimits.scopes}`, collect)
    .option('--name-claim <claim>', 'claim with the name of the user')
    .option('--groups-claim <claim>', 'claim with the groups of the user, such as groups or realm_access.roles')
    .addOption(
      new Option('--administrators <choice>', 'mappings to roles that can manage access').choices(['allow', 'refuse']),
    )
    .option('--api-audience <audience>', 'audience of access tokens of the provider that the API accepts; or none')
}

function fieldsOf(options: FieldOptions) {
  const { title, scope, nameClaim, groupsClaim, administrators, apiAudience } = options
  return {
    ...(title === undefined ? {} : { title }),
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(nameClaim === undefined ? {} : { nameClaim }),
    ...(groupsClaim === undefined ? {} : { groupsClaim }),
    ...(administrators === undefined ? {} : { mayGrantAdministrator: administrators === 'allow' }),
    ...(apiAudience === undefined ? {} : { apiAudience: apiAudience === 'none' ? null : apiAudience }),
  }
}

function addChanges(providers: Command, terminal: Terminal): void {
  platformCommand(
    withFieldOptions(
      providers
        .command('create')
        .description(
          'add an identity provider; the command prompts for the client secret, or reads it from standard input',
        )
        .argument('<name>', 'lower-case letters, digits and dashes')
        .requiredOption('--issuer <url>', 'issuer, exactly as the provider writes it')
        .requiredOption('--client-id <id>', 'client id of Millwright at the provider')
        .option('--public', 'the client has no secret'),
    ),
    terminal,
    create,
  )

  platformCommand(
    withFieldOptions(
      providers
        .command('update')
        .description('change an identity provider; the other values stay unchanged')
        .argument('<provider>', 'id or name')
        .option('--client-id <id>', 'client id of Millwright at the provider'),
    ),
    terminal,
    async (session, nameOrId: string, options: FieldOptions & { clientId?: string }) => {
      const { clientId } = options
      const data = { ...fieldsOf(options), ...(clientId === undefined ? {} : { clientId }) }
      if (Object.keys(data).length === 0) throw usageError('Pass at least one option with a new value.')
      const id = await providerId(session, nameOrId)
      const answer = await session.api(identity).updateIdentityProvider({ params: { id }, body: { data } })
      await session.output.done(`${nameOrId} changed`, answer)
    },
  )

  platformCommand(
    providers
      .command('set-secret')
      .description('set the client secret; the command prompts for it, or reads it from standard input')
      .argument('<provider>', 'id or name')
      .option('--public', 'remove the secret: the client has none'),
    terminal,
    async (session, nameOrId: string, options: { public?: boolean }) => {
      const id = await providerId(session, nameOrId)
      const clientSecret = options.public ? null : await clientSecretFrom(terminal)
      const body = { data: { clientSecret } }
      const answer = await session.api(identity).updateIdentityProvider({ params: { id }, body })
      await session.output.done(`Client secret of ${nameOrId} ${clientSecret === null ? 'removed' : 'changed'}`, answer)
    },
  )

  for (const [name, disabled, description] of [
    ['disable', true, 'disable an identity provider, and end the sessions of its users'],
    ['enable', false, 'enable an identity provider'],
  ] as const) {
    platformCommand(
      providers.command(name).description(description).argument('<provider>', 'id or name'),
      terminal,
      async (session, nameOrId: string) => {
        const id = await providerId(session, nameOrId)
        const body = { data: { disabled } }
        const answer = await session.api(identity).updateIdentityProvider({ params: { id }, body })
        await session.output.done(`${nameOrId} is ${name}d`, answer)
      },
    )
  }

  platformCommand(
    providers
      .command('delete')
      .description('delete an identity provider, the sessions of its users and the grants from its mappings')
      .argument('<provider>', 'id or name')
      .option('--yes', 'do not ask'),
    terminal,
    async (session, nameOrId: string, options: { yes?: boolean }) => {
      const id = await providerId(session, nameOrId)
      await confirm(session, `The users of ${nameOrId} can no longer sign in. Delete it?`, options)
      await session.api(identity).deleteIdentityProvider({ params: { id } })
      await session.output.done(`${nameOrId} deleted`, { data: { id } })
    },
  )
}

type CreateOptions = FieldOptions & { issuer: string; clientId: string; public?: boolean }

async function create({ api, output, terminal }: Session, name: string, options: CreateOptions): Promise<void> {
  const { issuer, clientId } = options
  const clientSecret = options.public ? null : await clientSecretFrom(terminal)
  const data = { title: name, ...fieldsOf(options), name, issuer, clientId, clientSecret }
  const answer = await api(identity).createIdentityProvider({ body: { data } })
  const { redirectUri, backchannelLogoutUri } = answer.data
  await output.done(
    `${name} created. Register these addresses at the provider:
  redirect address     ${redirectUri}
  back-channel logout  ${backchannelLogoutUri}`,
    answer,
  )
  if (output.isText) terminal.note(`Assign roles to its groups: millwright access providers map ${name} <group> viewer`)
}

type MappingOptions = { role?: string; group?: string }

function addMappings(providers: Command, terminal: Terminal): void {
  platformCommand(
    providers
      .command('map')
      .description('assign a role to the users with a value in their groups claim, from their next sign-in')
      .argument('<provider>', 'id or name')
      .argument('<value>', 'value of the groups claim')
      .argument('<role>')
      .option('--group <group>', 'in this access group only'),
    terminal,
    async (session, nameOrId: string, value: string, role: string, { group }: { group?: string }) => {
      const accessGroup = group === undefined ? null : await groupId(session, group)
      await changeMappings(session, nameOrId, (mappings) => {
        if (mappings.some((one) => isMapping(one, { value, role, accessGroup })))
          throw usageError(`${value} is already mapped to ${role}.`)
        return [...mappings, { value, role, accessGroup }]
      })
      await session.output.printText(
        `Users with ${value} get role ${role}${group === undefined ? '' : ` in ${group}`} at their next sign-in.`,
      )
    },
  )

  platformCommand(
    providers
      .command('unmap')
      .description('remove the mappings of a value of the groups claim')
      .argument('<provider>', 'id or name')
      .argument('<value>', 'value of the groups claim')
      .option('--role <role>', 'only the mapping to this role')
      .option('--group <group>', 'only the mapping in this access group'),
    terminal,
    async (session, nameOrId: string, value: string, { role, group }: MappingOptions) => {
      const selected = {
        value,
        ...(role === undefined ? {} : { role }),
        ...(group === undefined ? {} : { accessGroup: await groupId(session, group) }),
      }
      const removed = await changeMappings(session, nameOrId, (mappings) => {
        const others = mappings.filter((one) => !isMapping(one, selected))
        if (others.length < mappings.length) return others
        throw usageError(`${nameOrId} has no such mapping.`, `millwright access providers show ${nameOrId}`)
      })
      await session.output.printText(
        `Mappings removed: ${removed}. The roles are revoked. Users with another mapping to the same role get it again at their next sign-in.`,
      )
    },
  )
}

type Mapping = IdentityProvider['mappings'][number]

function isMapping({ value, role, accessGroup = null }: Mapping, expected: Partial<Mapping>): boolean {
  return Object.entries(expected).every(
    ([name, text]) => ({ value, role, accessGroup })[name as keyof Mapping] === text,
  )
}

/**
 * Replaces the mappings of a provider, and returns how many fewer there are. The ETag prevents that a concurrent change
 * is lost.
 */
async function changeMappings(
  session: Session,
  nameOrId: string,
  change: (mappings: Mapping[]) => Mapping[],
): Promise<number> {
  const client = session.api(identity)
  const params = { id: await providerId(session, nameOrId) }
  let tag: string | undefined
  const { mappings } = (
    await client.readIdentityProvider({ params }, ({ headers }) => {
      tag = headers.get('etag') ?? undefined
    })
  ).data
  const next = change(mappings)
  const answer = await client.updateIdentityProvider({
    params,
    body: { data: { mappings: next } },
    headers: tag === undefined ? {} : { 'if-match': tag },
  })
  if (!session.output.isText) await session.output.show(answer)
  return mappings.length - next.length
}

async function providerId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(identity).listIdentityProviders({ query: { limit: 100 } })
  const matches = data.filter(({ name }) => name === nameOrId)
  return requireSingle('Identity provider', nameOrId, { matches, list: 'millwright access providers list' })
}

/** Reads the client secret from a prompt or standard input, because other users of the machine can see arguments. */
async function clientSecretFrom(terminal: Terminal): Promise<string> {
  const text = terminal.isInteractive ? await terminal.promptSecret('Client secret: ') : await terminal.input()
  const secret = text.replace(/\r?\n$/, '')
  if (secret === '') throw usageError('The client secret is empty.', 'pass it on standard input, or pass --public')
  return secret
}
