import { access, constants, open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { Problem } from '@millwright/api/problem.ts'
import type { Command } from 'commander'
import { usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { displayText } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addManagedLinks } from './managed-links.ts'

/** Loads the contracts when a management command runs, because a running gateway does not need them. */
const loadContracts = async () => {
  const [{ onboarding }, { discovery }, lookup] = await Promise.all([
    import('@millwright/api/onboarding.ts'),
    import('@millwright/api/discovery.ts'),
    import('../input/lookup.ts'),
  ])
  return { onboarding, discovery, gatewayId: lookup.gatewayId }
}

/** Adds the commands that manage the gateways of the platform. */
export function addManagement(gateway: Command, terminal: Terminal): void {
  platformCommand(
    gateway
      .command('onboard')
      .description('register a gateway and write its config file')
      .argument('<name>')
      .option('--group <group>', 'access group of the devices that it finds')
      .option('--out <file>', 'file to write', 'gateway-config.json')
      .option('--force', 'overwrite an existing file'),
    terminal,
    onboard,
  ).addHelpText(
    'after',
    `
The file is valid for one enrolment within 30 minutes. Any person with the file can enrol as this gateway, so the
file is readable only by you. Copy it to the machine of the gateway, and run the printed command there. The command
downloads the gateway from the platform, checks its SHA-256, and starts it.

Examples:
  millwright gateway onboard 'Hall 4'
  millwright gateway onboard 'Hall 5' --group line-1 --out hall-5.json`,
  )

  platformCommand(
    gateway
      .command('renew')
      .description('write a new config file for a gateway that has not enrolled yet')
      .argument('<gateway>')
      .option('--out <file>', 'file to write', 'gateway-config.json'),
    terminal,
    async (session, nameOrId: string, { out }: { out: string }) => {
      const { gatewayId } = await loadContracts()
      await writeConfig(session, await gatewayId(session, nameOrId), out)
    },
  )

  platformCommand(
    withPagingOptions(gateway.command('list').description('list gateways and their state')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const { onboarding } = await loadContracts()
      const pages = pagesOf(options, ({ limit, offset }) => api(onboarding).listGateways({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: { id: 'id', name: 'name', state: 'state', version: 'version', 'last seen': 'lastSeenTimestamp' },
        nothing: 'No gateways yet: millwright gateway onboard',
      })
    },
  )

  platformCommand(
    gateway.command('show').description('show a gateway and its state').argument('<gateway>', 'id or name'),
    terminal,
    async (session, nameOrId: string) => {
      const { onboarding, gatewayId } = await loadContracts()
      const id = await gatewayId(session, nameOrId)
      await session.output.show(await session.api(onboarding).getGateway({ params: { id } }))
    },
  )

  const linksCommand = platformCommand(
    gateway
      .command('links')
      .description('list the links of a gateway with their filters and options; run built-in links')
      .argument('[gateway]', 'id or name'),
    terminal,
    links,
  )
  addManagedLinks(linksCommand, terminal)

  platformCommand(
    gateway.command('revoke').description('permanently revoke a gateway').argument('<gateway>'),
    terminal,
    async (session, nameOrId: string) => {
      const { onboarding, gatewayId } = await loadContracts()
      const id = await gatewayId(session, nameOrId)
      await session.output.done(`${nameOrId} revoked`, await session.api(onboarding).revokeGateway({ params: { id } }))
    },
  )

  platformCommand(
    gateway.command('delete').description('revoke a gateway and delete it with its asset').argument('<gateway>'),
    terminal,
    async (session, nameOrId: string) => {
      const { onboarding, gatewayId } = await loadContracts()
      const id = await gatewayId(session, nameOrId)
      await session.api(onboarding).deleteGateway({ params: { id } })
      await session.output.done(`${nameOrId} deleted`, { data: { id } })
    },
  )
}

type OnboardOptions = { group?: string; out: string; force?: boolean }

async function onboard(session: Session, name: string, { group, out, force }: OnboardOptions): Promise<void> {
  const { onboarding } = await loadContracts()
  await requireWritable(out, force === true)
  const data = { name, ...(group === undefined ? {} : { access_group: group }) }
  const { data: made } = await session.api(onboarding).createGateway({ body: { data } })
  await writeConfig(session, made.id, out)
}

/**
 * Throws when the file cannot be written, or when it exists and `force` is not set. The check runs before the gateway
 * is created, because the existing file may be the only copy of another gateway's configuration.
 */
async function requireWritable(out: string, force: boolean): Promise<void> {
  const exists = await access(out).then(
    () => true,
    () => false,
  )
  if (exists && !force) throw usageError(`${out} already exists.`, 'choose another file with --out, or pass --force')
  if (exists) return
  await access(dirname(out), constants.W_OK).catch(({ code }: NodeJS.ErrnoException) => {
    throw usageError(`${out} cannot be written (${code}).`, 'choose another file with --out')
  })
}

async function writeConfig(session: Session, id: string, out: string): Promise<void> {
  const { onboarding } = await loadContracts()
  const config = await session.api(onboarding).createGatewayConfig({ params: { id } })
  await writeForOwner(out, `${JSON.stringify(config, undefined, 2)}\n`).catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${out} cannot be written (${error.code}).`, `millwright gateway renew ${id} --out <file>`)
  })
  const { enrolmentToken: _, ...rest } = config
  const command = await startCommand(session, out)
  await session.output.done(
    `Gateway ${id}: ${out} is valid for one enrolment, until ${displayText(config.expiresTimestamp)}.\nOn its machine, in the folder with this file:\n${command}`,
    { data: { ...rest, file: out, command } },
  )
}

/**
 * Returns the command that starts the gateway on its machine. If the platform has no gateway package, the machine needs a
 * checkout of the product.
 */
async function startCommand(session: Session, file: string): Promise<string> {
  const { onboarding } = await loadContracts()
  const name = `'${basename(file).replaceAll("'", "'\\''")}'`
  try {
    const { data } = await session.api(onboarding).getGatewayPackage({})
    return data.command.replace(/gateway-config\.json$/, name)
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error
    return `millwright gateway --config ${name}`
  }
}

/** Restricts an existing file to its owner before writing, because other users may have permission to read the file. */
async function writeForOwner(file: string, text: string): Promise<void> {
  await using handle = await open(file, 'w', 0o600)
  if ((await handle.stat()).isFile()) await handle.chmod(0o600)
  await handle.writeFile(text)
}

async function links(session: Session, nameOrId: string | undefined): Promise<void> {
  const { discovery, gatewayId } = await loadContracts()
  const id = await gatewayId(session, nameOrId)
  const answer = await session.api(discovery).listAssetLinks({ params: { gatewayId: id } })
  const keys = (parameters: unknown) => (parameters as { key: string }[]).map(({ key }) => key)
  await session.output.list(answer, {
    columns: {
      link: 'assetLinkId',
      version: 'version',
      reachable: 'reachable',
      budget: ({ budgeted }) => (budgeted ? 'budgeted' : 'not budgeted'),
      problem: ({ problem, incompatibility }) => incompatibility ?? problem,
      filters: ({ filters }) => keys(filters),
      options: ({ options }) => keys(options),
    },
    nothing: 'The gateway has no links: start one with millwright gateway links enable plant',
  })
}
