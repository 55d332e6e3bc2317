import type { Command } from 'commander'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect } from '../session/platform-command.ts'

type CreateOptions = { host?: string[]; days: number }

const daysRule = { minimum: 1, maximum: 825, default: 397 }

export function addCommands(tls: Command, terminal: Terminal): void {
  tls
    .command('create')
    .description('create or renew a certificate of a local authority in the home')
    .option(
      '--host <name>',
      'DNS name or IP address of the platform; repeatable (default: the names of the existing certificate, or localhost and this machine)',
      collect,
    )
    .option(
      '--days <number>',
      `validity in days, at most ${daysRule.maximum}`,
      wholeNumber(daysRule.minimum, daysRule.maximum),
      daysRule.default,
    )
    .addHelpText(
      'after',
      `
The command creates an authority and a certificate in the folder tls of MILLWRIGHT_HOME. If the authority exists, it creates
a new certificate of the same authority. A running platform uses the new certificate without a restart.

For trials and small installations. Browsers, gateways and the command line must trust the authority: the command prints
how. If your company has an authority, use a certificate of that authority instead.

Examples:
  millwright tls create
  millwright tls create --host plant.example.com --host 10.20.0.5 --days 90`,
    )
    .action((options: CreateOptions) => create(terminal, options))
}

async function create(terminal: Terminal, { host, days }: CreateOptions): Promise<void> {
  const [{ readCloudConfiguration }, { createHome }, { createLocalCertificate }] = await Promise.all([
    import('@millwright/cloud/settings.ts'),
    import('@millwright/cloud/start.ts'),
    import('./tls-files.ts'),
  ])
  const configuration = readCloudConfiguration({ ...terminal.environment })
  const home = await createHome(configuration.home)
  const created = await createLocalCertificate({ home, hosts: host, days })
  const firstName = created.hosts.find((name) => !name.startsWith('*.')) ?? 'localhost'
  const address = configuration.baseUrl ?? `https://${firstName}:${configuration.port}`
  await terminal.print(
    `${created.isRenewed ? 'Renewed' : 'Created'} the certificate for ${created.hosts.join(', ')}, valid until ${created.validTo}.

Settings of the platform:
  MILLWRIGHT_TLS_CERT=${created.certFile}
  MILLWRIGHT_TLS_KEY=${created.keyFile}

Fingerprint of the certificate (SHA-256):
  ${created.fingerprint}

Trust the authority ${created.authorityFile}:
  Browsers      Import the file as an authority for web sites, in the browser or the operating system.
  Command line  millwright login ${address.replace(/^http:/, 'https:')} --authority ${created.authorityFile}
                or set MILLWRIGHT_AUTHORITY=${created.authorityFile}
  Gateways      Copy the file next to gateway-config.json and add to it: "tls": { "authority": "authority.pem" }
                or pin this certificate: "tls": { "fingerprint": "<fingerprint>" }

Keep ${created.authorityKeyFile} secret: its owner can create certificates that these programs trust.`,
  )
}
