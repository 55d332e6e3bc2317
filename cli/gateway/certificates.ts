import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { IssuedCertificate, IssuedRole } from '@millwright/gateway/tls/issued-certificates.ts'
import { type Command, Option } from 'commander'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect } from '../session/platform-command.ts'
import { gatewayHome, noteMissingGateway } from './gateway-home.ts'

type HomeOptions = { home?: string; json?: boolean }
type CreateOptions = HomeOptions & { role: IssuedRole; host?: string[]; days?: string; output: string }

/** Loads the code for certificates when a command runs, because other commands do not need it. */
const loadCertificates = () => import('@millwright/gateway/tls/issued-certificates.ts')

/**
 * Adds `millwright gateway certificate`, which manages the certificates of links and agents on other machines. The commands
 * work on the home of the gateway, and do not need the platform.
 */
export function addCertificates(gateway: Command, terminal: Terminal): void {
  const certificate = gateway
    .command('certificate')
    .description('certificates of links and agents on other machines, which connect to the gateway with mutual TLS')
    .addHelpText(
      'after',
      `
The gateway on this machine has its own authority, which is created on first use. It accepts links and agents on other
machines only with a certificate from "create", at the ports of MILLWRIGHT_GATEWAY_TLS_PORT and
MILLWRIGHT_GATEWAY_AGENT_TLS_PORT.

Examples:
  millwright gateway certificate create acme.links.ovens --host 10.0.0.7 --output ovens
  millwright gateway certificate list`,
    )
  const local = (command: Command) =>
    command
      .option(
        '--home <folder>',
        'home of the gateway (default: MILLWRIGHT_GATEWAY_HOME, or the folder gateway in MILLWRIGHT_HOME)',
      )
      .addOption(new Option('--json', 'print JSON'))

  local(
    certificate
      .command('create')
      .description('create a key and a certificate for one link or agent')
      .argument('<name>', 'id of the link, or name of the agent')
      .addOption(new Option('--role <role>', 'what the certificate is for').choices(['link', 'agent']).default('link'))
      .option('--host <host>', 'DNS name or IP address at which the gateway reaches the link; repeatable', collect)
      .option('--days <days>', 'validity in days, from 90 to 825 (default: 365)')
      .requiredOption('--output <folder>', 'folder for the files; it is created if needed'),
  )
    .addHelpText(
      'after',
      `
Writes <name>.pem, <name>-key.pem and authority.pem. Copy the files to the machine of the link or agent, and delete them
here. Any person with the key can connect as this link or agent. Existing files are never overwritten.

Examples:
  millwright gateway certificate create acme.links.ovens --host 10.0.0.7 --host ovens.plant.example --output ovens
  millwright gateway certificate create reporter --role agent --days 90 --output reporter`,
    )
    .action((name: string, options: CreateOptions) => create(terminal, name, options))

  local(certificate.command('list').description('list the certificates of links and agents on other machines'))
    .addHelpText('after', '\nExamples:\n  millwright gateway certificate list --json')
    .action((options: HomeOptions) => list(terminal, options))

  local(
    certificate
      .command('revoke')
      .description('revoke a certificate, or all certificates of a name')
      .argument('<name>', 'name or serial number'),
  )
    .addHelpText(
      'after',
      `
A running gateway ends the connections of the certificate within about one second. A revoked certificate stays revoked.

Examples:
  millwright gateway certificate revoke acme.links.ovens`,
    )
    .action((name: string, options: HomeOptions) => revoke(terminal, name, options))
}

async function create(terminal: Terminal, name: string, options: CreateOptions): Promise<void> {
  const { issueCertificate, certificateLimits, requireValid } = await loadCertificates()
  const home = gatewayHome(terminal.environment, options.home)
  const days = options.days === undefined ? certificateLimits.days.default : Number(options.days)
  const request = { name, role: options.role, hosts: options.host ?? [], days }
  try {
    requireValid(request)
  } catch (error) {
    throw usageError((error as Error).message)
  }
  const folder = resolve(options.output)
  const files = {
    certificate: join(folder, `${name}.pem`),
    key: join(folder, `${name}-key.pem`),
    authority: join(folder, 'authority.pem'),
  }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await using reserved = new AsyncDisposableStack()
  // The files are reserved before the certificate exists, so that no certificate is created for an unusable folder.
  for (const [file, mode] of [
    [files.certificate, 0o644],
    [files.key, 0o600],
  ] as const) {
    await reserve(file, mode)
    reserved.defer(() => rm(file, { force: true }))
  }
  const { gatewayAuthority } = await import('@millwright/gateway/tls/gateway-authority.ts')
  await writeAuthority(files.authority, (await gatewayAuthority(home)).certificate)
  const { certificate, key, issued } = await issueCertificate(home, request)
  await writeFile(files.certificate, certificate)
  await writeFile(files.key, key)
  reserved.move()
  const data = { ...issued, files }
  await new Output(terminal, options.json ? 'json' : 'text').done(nextSteps(issued, files), { data })
  noteMissingGateway(terminal, home)
}

type Files = { certificate: string; key: string; authority: string }

function nextSteps({ name, role, serial, expires }: IssuedCertificate, files: Files): string {
  const head = [`Certificate ${serial} of the ${role} ${name} is valid until ${expires}.`, '']
  if (role === 'agent')
    return [
      ...head,
      'Copy the files to the machine of the agent, and delete them here. Test them there:',
      `  curl --cert ${name}.pem --key ${name}-key.pem --cacert authority.pem https://<gateway>:<MILLWRIGHT_GATEWAY_AGENT_TLS_PORT>/gatekeeper/v1/version`,
      '',
      ...Object.values(files).map((file) => `  ${file}`),
    ].join('\n')
  return [
    ...head,
    'Copy the files to the machine of the link, and delete them here. Start the link there with:',
    `  MILLWRIGHT_LINK_TLS_CERT=${name}.pem`,
    `  MILLWRIGHT_LINK_TLS_KEY=${name}-key.pem`,
    '  MILLWRIGHT_LINK_TLS_AUTHORITY=authority.pem',
    '  MILLWRIGHT_LINK_REGISTRY=<gateway>:<MILLWRIGHT_GATEWAY_TLS_PORT>',
    '',
    ...Object.values(files).map((file) => `  ${file}`),
  ].join('\n')
}

/** Creates an empty file. Throws if the file exists. */
async function reserve(file: string, mode: number): Promise<void> {
  const handle = await open(file, 'wx', mode).catch((error: NodeJS.ErrnoException) => cannotWrite(file, error))
  await handle.close()
}

async function writeAuthority(file: string, authority: string): Promise<void> {
  try {
    await writeFile(file, authority, { flag: 'wx' })
  } catch (error) {
    const isSame = (await readFile(file, 'utf8').catch(() => '')) === authority
    if (!isSame) cannotWrite(file, error as NodeJS.ErrnoException)
  }
}

function cannotWrite(file: string, { code }: NodeJS.ErrnoException): never {
  throw new CommandError(code === 'EEXIST' ? `${file} already exists.` : `${file} cannot be written (${code}).`, {
    next: 'choose another folder with --output',
  })
}

async function list(terminal: Terminal, options: HomeOptions): Promise<void> {
  const { listCertificates } = await loadCertificates()
  const home = gatewayHome(terminal.environment, options.home)
  await show(terminal, await listCertificates(home), options)
  noteMissingGateway(terminal, home)
}

async function revoke(terminal: Terminal, name: string, options: HomeOptions): Promise<void> {
  const { revokeCertificates } = await loadCertificates()
  const home = gatewayHome(terminal.environment, options.home)
  const revoked = await revokeCertificates(home, name)
  if (revoked.length === 0)
    throw new CommandError(`The gateway has no certificate with the name or serial number "${name}".`, {
      exitCode: exitCodes.notFound,
      next: 'list the certificates: millwright gateway certificate list',
    })
  await show(terminal, revoked, options)
}

async function show(terminal: Terminal, data: IssuedCertificate[], { json }: HomeOptions): Promise<void> {
  await new Output(terminal, json ? 'json' : 'text').list(
    { data },
    {
      columns: {
        name: 'name',
        role: 'role',
        hosts: (row) => (row as IssuedCertificate).hosts.join(', '),
        state: (row) => stateOf(row as IssuedCertificate),
        expires: 'expires',
        serial: 'serial',
      },
      nothing: 'No certificates yet: millwright gateway certificate create',
    },
  )
}

function stateOf({ revoked, expires }: IssuedCertificate): string {
  if (revoked !== undefined) return 'revoked'
  return Date.parse(expires) <= Date.now() ? 'expired' : 'valid'
}
