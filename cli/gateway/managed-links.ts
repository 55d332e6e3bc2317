import { pause } from '@millwright/api/back-off.ts'
import type { ManagedLink } from '@millwright/api/gatekeeper.ts'
import type { Command } from 'commander'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'

type HomeOptions = { home?: string; json?: boolean }
type LogOptions = HomeOptions & { lines: string }

/** The time in which a running gateway applies a change. */
const appliedWithinMs = 5_000
const checkEveryMs = 100

/** Loads the modules of the gateway when a command runs, because other commands do not need them. */
const loadRunner = async () => {
  const [settings, runner, switches, log, { builtInLinks }] = await Promise.all([
    import('@millwright/gateway/settings.ts'),
    import('@millwright/gateway/link-runner/link-runner.ts'),
    import('@millwright/gateway/link-runner/link-switches.ts'),
    import('@millwright/gateway/link-runner/link-log.ts'),
    import('@millwright/links/catalogue.ts'),
  ])
  return { ...settings, ...runner, ...switches, ...log, builtInLinks }
}

/**
 * Adds the commands for the built-in links of the gateway on this machine. They work on the home of the gateway, and do
 * not need the platform. A running gateway applies a change within a second.
 */
export function addManagedLinks(links: Command, terminal: Terminal): void {
  links.enablePositionalOptions()
  const local = (command: Command) =>
    command
      .option(
        '--home <folder>',
        'home of the gateway (default: MILLWRIGHT_GATEWAY_HOME, or the folder gateway in MILLWRIGHT_HOME)',
      )
      .option('--json', 'print JSON')

  local(links.command('list').description('list the built-in links of the gateway on this machine, with their state'))
    .addHelpText(
      'after',
      `
A failed link starts again after a pause of up to one minute. A notice describes a limit on this machine, such as a missing
right, and how to remove it.

Examples:
  millwright gateway links list
  millwright gateway links list --home /var/lib/millwright-gateway --json`,
    )
    .action((options: HomeOptions) => list(terminal, options))

  for (const [word, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    local(
      links
        .command(word)
        .description(
          enabled
            ? 'run built-in links as part of the gateway on this machine'
            : 'stop built-in links of the gateway on this machine',
        )
        .argument('<name...>', 'plant, ip-scan, snmp, …; "millwright gateway links list" lists all'),
    )
      .addHelpText(
        'after',
        `
${enabled ? 'An enabled link sends to devices only while a scan or a monitoring task runs, or when a user reads or updates a device. No other program can register with the id of an enabled link.' : 'A running scan of the link fails.'}
The gateway stores the change in links.json in its home, so the change remains after a restart and overrides
MILLWRIGHT_GATEWAY_LINKS. A running gateway applies it within a second.

Examples:
  millwright gateway links ${word} snmp
  millwright gateway links ${word} ip-scan snmp --home /var/lib/millwright-gateway`,
      )
      .action((names: string[], options: HomeOptions) => setEnabled(terminal, { names, enabled, ...options }))
  }

  local(
    links
      .command('logs')
      .description('print the latest log lines of a built-in link')
      .argument('<name>')
      .option('--lines <number>', 'number of lines', '50'),
  )
    .addHelpText(
      'after',
      `
The complete log is the file links/<name>.log in the home of the gateway, and the previous file links/<name>.log.1.

Examples:
  millwright gateway links logs snmp
  millwright gateway links logs snmp --lines 500`,
    )
    .action((name: string, options: LogOptions) => printLog(terminal, name, options))
}

type LinkRow = Omit<ManagedLink, 'log'>

/** Returns the built-in links: from the state of the running gateway, or else from its files. */
async function linksOf(
  home: string,
  environment: Terminal['environment'],
): Promise<{ rows: LinkRow[]; isRunning: boolean }> {
  const { runningState, readSwitches, readSettings, isEnabled, builtInLinks } = await loadRunner()
  const state = await runningState(home)
  if (state !== undefined) return { rows: state.links, isRunning: true }
  const { links: setting } = readSettings(environment)
  const switches = await readSwitches(home).catch((error: Error) => {
    throw new CommandError(`links.json in ${home} is not valid: ${error.message}.`, {
      next: 'delete the file, or enable the links again',
    })
  })
  const rows = builtInLinks.map(({ name, appInstanceId }) => ({
    name,
    appInstanceId,
    enabled: isEnabled(name, switches, setting),
    state: 'stopped' as const,
    restarts: 0,
  }))
  return { rows, isRunning: false }
}

async function homeOf(terminal: Terminal, { home }: HomeOptions): Promise<string> {
  const { gatewayHome } = await import('./gateway-home.ts')
  return gatewayHome(terminal.environment, home)
}

async function list(terminal: Terminal, options: HomeOptions): Promise<void> {
  const home = await homeOf(terminal, options)
  const { rows, isRunning } = await linksOf(home, terminal.environment)
  await show(terminal, rows, options)
  if (!isRunning) terminal.note(`No gateway is running with the home ${home}.`)
}

async function show(terminal: Terminal, data: LinkRow[], { json }: HomeOptions): Promise<void> {
  await new Output(terminal, json ? 'json' : 'text').list(
    { data },
    {
      columns: {
        link: 'name',
        enabled: 'enabled',
        state: 'state',
        restarts: 'restarts',
        endpoint: 'endpoint',
        problem: (row) => remarksOf(row as LinkRow),
      },
      nothing: 'This installation has no built-in links.',
    },
  )
}

function remarksOf({ problem, notices = [] }: LinkRow): string {
  return [problem, ...notices].filter((text) => text !== undefined).join(' · ')
}

type Change = HomeOptions & { names: string[]; enabled: boolean }

async function setEnabled(terminal: Terminal, { names, enabled, ...options }: Change): Promise<void> {
  const { builtInLinks, unknownLink, writeSwitches } = await loadRunner()
  const unknown = names.find((name) => !builtInLinks.some((link) => link.name === name))
  if (unknown !== undefined)
    throw new CommandError(unknownLink(unknown, builtInLinks), { exitCode: exitCodes.notFound })
  const home = await homeOf(terminal, options)
  await writeSwitches(home, Object.fromEntries(names.map((name) => [name, enabled]))).catch(
    ({ code }: NodeJS.ErrnoException) => {
      throw new CommandError(`links.json in ${home} cannot be written (${code}).`, {
        next: 'run the command as the user of the gateway, and check --home',
      })
    },
  )
  const { rows, isRunning, isDone } = await applied(home, terminal.environment, { names, enabled })
  const isChanged = ({ name }: LinkRow) => names.includes(name)
  await show(terminal, rows.filter(isChanged), options)
  if (!isRunning) terminal.note('No gateway is running with this home. The change applies when it starts.')
  else if (!isDone)
    throw new CommandError(`The gateway has not applied the change within ${appliedWithinMs / 1_000} seconds.`, {
      next: 'check the log of the gateway, and list the links again',
    })
}

/** Waits until the running gateway has applied the change, and returns the links. */
async function applied(home: string, environment: Terminal['environment'], { names, enabled }: Omit<Change, 'home'>) {
  const deadline = performance.now() + appliedWithinMs
  for (;;) {
    const found = await linksOf(home, environment)
    const isDone = found.rows.every((row) => !names.includes(row.name) || row.enabled === enabled)
    if (isDone || !found.isRunning || performance.now() > deadline) return { ...found, isDone }
    await pause(checkEveryMs)
  }
}

async function printLog(terminal: Terminal, name: string, options: LogOptions): Promise<void> {
  const { builtInLinks, unknownLink, logFileOf, readLog } = await loadRunner()
  if (!builtInLinks.some((link) => link.name === name))
    throw new CommandError(unknownLink(name, builtInLinks), { exitCode: exitCodes.notFound })
  const count = Number(options.lines)
  if (!Number.isInteger(count) || count < 1) throw usageError('--lines must be a whole number of at least 1.')
  const file = logFileOf(await homeOf(terminal, options), name)
  const lines = await readLog(file, count)
  if (options.json) return terminal.print(JSON.stringify({ data: lines }))
  for (const line of lines) await terminal.print(line)
  if (lines.length === 0) terminal.note(`There are no log lines in ${file}. The gateway has not started the link yet.`)
}
