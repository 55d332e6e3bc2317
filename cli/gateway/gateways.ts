import { access, constants, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { usageError } from '../output/error-report.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { shown } from '../output/text.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

/** The contracts are loaded when one of these runs: the gateway itself has no use for them. */
const loaded = async () => {
  const [{ onboarding }, { discovery }, lookup] = await Promise.all([
    import('@millwright/api/onboarding.ts'),
    import('@millwright/api/discovery.ts'),
    import('../input/lookup.ts'),
  ])
  return { onboarding, discovery, gatewayId: lookup.gatewayId }
}

/** Managing gateways on the platform, beside running one here. */
export function addManaging(gateway: Command, terminal: Terminal): void {
  online(
    gateway
      .command('onboard')
      .description('create a gateway and write its configuration file')
      .argument('<name>')
      .option('--group <group>', 'the access group of its assets')
      .option('--out <file>', 'the file to write', 'gateway-config.json')
      .option('--force', 'overwrite an existing file'),
    terminal,
    onboard,
  ).addHelpText(
    'after',
    `
The file lets one gateway in, once, within half an hour: whoever has it can be that gateway. Only you can read it.

Examples:
  millwright gateway onboard 'Hall 4'
  millwright gateway onboard 'Hall 5' --group line-1 --out hall-5.json`,
  )

  online(
    gateway
      .command('renew')
      .description('write a new configuration file for a gateway that is not enrolled')
      .argument('<gateway>')
      .option('--out <file>', 'the file to write', 'gateway-config.json'),
    terminal,
    async (session, given: string, { out }: { out: string }) => {
      const { gatewayId } = await loaded()
      await writeConfig(session, await gatewayId(session, given), out)
    },
  )

  online(
    paged(gateway.command('list').description('list gateways and their states')),
    terminal,
    async ({ api, output }, options: Paging) => {
      const { onboarding } = await loaded()
      const pages = pagesOf(options, ({ limit, offset }) => api(onboarding).listGateways({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: { id: 'id', name: 'name', state: 'state', version: 'version', 'last seen': 'lastSeenTimestamp' },
        nothing: 'There are none yet: millwright gateway onboard',
      })
    },
  )

  online(
    gateway.command('show').description('show a gateway and its state').argument('<gateway>', 'id or name'),
    terminal,
    async (session, given: string) => {
      const { onboarding, gatewayId } = await loaded()
      const id = await gatewayId(session, given)
      await session.output.show(await session.api(onboarding).getGateway({ params: { id } }))
    },
  )

  online(
    gateway
      .command('links')
      .description('list the links of a gateway, with filters and options')
      .argument('[gateway]', 'id or name'),
    terminal,
    links,
  )

  online(
    gateway.command('revoke').description('revoke a gateway immediately and permanently').argument('<gateway>'),
    terminal,
    async (session, given: string) => {
      const { onboarding, gatewayId } = await loaded()
      const id = await gatewayId(session, given)
      await session.output.done(`${given} is revoked`, await session.api(onboarding).revokeGateway({ params: { id } }))
    },
  )

  online(
    gateway.command('delete').description('revoke a gateway and delete it with its asset').argument('<gateway>'),
    terminal,
    async (session, given: string) => {
      const { onboarding, gatewayId } = await loaded()
      const id = await gatewayId(session, given)
      await session.api(onboarding).deleteGateway({ params: { id } })
      await session.output.done(`${given} deleted`, { data: { id } })
    },
  )
}

type Onboarding = { group?: string; out: string; force?: boolean }

async function onboard(session: Session, name: string, { group, out, force }: Onboarding): Promise<void> {
  const { onboarding } = await loaded()
  await requirePlaceFor(out, force === true)
  const data = { name, ...(group === undefined ? {} : { access_group: group }) }
  const { data: made } = await session.api(onboarding).createGateway({ body: { data } })
  await writeConfig(session, made.id, out)
}

/** Looked at before the gateway is made: its file may be another gateway's only one. */
async function requirePlaceFor(out: string, force: boolean): Promise<void> {
  const isThere = await access(out).then(
    () => true,
    () => false,
  )
  if (isThere && !force) throw usageError(`${out} is there already.`, 'give another name with --out, or --force')
  if (isThere) return
  await access(dirname(out), constants.W_OK).catch(({ code }: NodeJS.ErrnoException) => {
    throw usageError(`${out} cannot be written (${code}).`, 'give another place with --out')
  })
}

async function writeConfig(session: Session, id: string, out: string): Promise<void> {
  const { onboarding } = await loaded()
  const config = await session.api(onboarding).createGatewayConfig({ params: { id } })
  await writeForOwner(out, `${JSON.stringify(config, undefined, 2)}\n`).catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${out} cannot be written (${error.code}).`, `millwright gateway renew ${id} --out <file>`)
  })
  const { enrolmentToken: _, ...rest } = config
  await session.output.done(
    `Gateway ${id}: ${out} lets it in once, until ${shown(config.expiresTimestamp)}.\nOn its machine: millwright gateway --config ${out}`,
    { data: { ...rest, file: out } },
  )
}

/** A file that was there may be open to others: it is closed before anything stands in it. */
async function writeForOwner(file: string, text: string): Promise<void> {
  await using handle = await open(file, 'w', 0o600)
  if ((await handle.stat()).isFile()) await handle.chmod(0o600)
  await handle.writeFile(text)
}

async function links(session: Session, given: string | undefined): Promise<void> {
  const { discovery, gatewayId } = await loaded()
  const id = await gatewayId(session, given)
  const answer = await session.api(discovery).listAssetLinks({ params: { gatewayId: id } })
  const keys = (parameters: unknown) => (parameters as { key: string }[]).map(({ key }) => key)
  await session.output.list(answer, {
    columns: {
      link: 'assetLinkId',
      version: 'version',
      answers: 'reachable',
      problem: ({ problem, incompatibility }) => incompatibility ?? problem,
      filters: ({ filters }) => keys(filters),
      options: ({ options }) => keys(options),
    },
    nothing: 'It has no links: start one with millwright link run plant',
  })
}
