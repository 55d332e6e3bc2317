import { productVersion } from '@millwright/cloud/version.ts'
import { Command } from 'commander'
import { exitCodes, reportAndExit } from './report.ts'

type Part = { description: string; load(): Promise<{ addCommands(command: Command): void }> }

/** The rest is loaded when it is asked for: what it stands on is large. */
const parts: Record<string, Part> = {
  tenants: {
    description: 'the tenants of this installation, kept apart in the database itself',
    load: () => import('./tenants.ts'),
  },
  users: { description: 'people, when nobody can sign in to manage them', load: () => import('./users.ts') },
  keys: { description: 'the keys of this installation', load: () => import('./keys.ts') },
  database: { description: 'the database server', load: () => import('./database.ts') },
  audit: { description: 'the audit trail', load: () => import('./audit.ts') },
  plant: { description: 'made-up plants, for trying things out and for measuring', load: () => import('./plant.ts') },
  gateway: { description: 'the asset gateway of a shop floor', load: () => import('./gateway.ts') },
  link: { description: 'asset links: write, test and run them', load: () => import('./link.ts') },
  config: { description: 'the settings in effect, secrets masked', load: () => import('./config.ts') },
}

const program = new Command('millwright')
  .description('Open industrial asset management: find, keep and work on every device of a plant.')
  .version(productVersion)
  .enablePositionalOptions()
  .showSuggestionAfterError()
  .showHelpAfterError('(millwright --help shows what there is)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : exitCodes.usage))
  .addHelpText(
    'after',
    `
Settings are environment variables; "millwright config" lists them with their values.

Examples:
  millwright up                          everything on this machine, as npm start does
  millwright tenants create plant-7      a second tenant, apart from all others
  millwright config                      what is set, what is not, what it is for

Exit codes: 0 done, 1 failed, 2 wrong usage.`,
  )

program
  .command('up')
  .description('start everything on this machine')
  .action(() => runCloud({}, { withGateway: true }))

program
  .command('cloud')
  .description('start the cloud part, or some of its services')
  .option('--services <names>', 'services to run here, separated by commas (default: all that are not peers)')
  .option('--peers <list>', 'where the others are: name=url, separated by commas')
  .option('--port <port>', 'port to listen on; 0 takes any free one')
  .addHelpText(
    'after',
    `
Example: two processes on one database, with the same key and the same address for clients
  export DATABASE_URL=postgres://… MILLWRIGHT_MASTER_KEY=… MILLWRIGHT_BASE_URL=http://127.0.0.1:9001
  millwright cloud --services identity,authorization --peers audit=http://127.0.0.1:9002,events=http://127.0.0.1:9002 --port 9001
  millwright cloud --services audit,events --peers identity=http://127.0.0.1:9001,authorization=http://127.0.0.1:9001 --port 9002`,
  )
  .action((options: { services?: string; peers?: string; port?: string }) =>
    runCloud(
      {
        ...(options.services === undefined ? {} : { MILLWRIGHT_SERVICES: options.services }),
        ...(options.peers === undefined ? {} : { MILLWRIGHT_PEERS: options.peers }),
        ...(options.port === undefined ? {} : { MILLWRIGHT_PORT: options.port }),
      },
      { withGateway: false },
    ),
  )

for (const [name, { description, load }] of Object.entries(parts)) {
  const command = program.command(name).description(description)
  if (process.argv.includes(name)) (await load()).addCommands(command)
}

await program.parseAsync().catch(reportAndExit)

async function runCloud(settings: Record<string, string>, parts: { withGateway: boolean }): Promise<void> {
  const { runCloud: run } = await import('./up.ts')
  await run({ ...process.env, ...settings }, parts)
}
