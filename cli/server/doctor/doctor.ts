import { type CloudConfiguration, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import type { Command } from 'commander'
import { CommandError, usageError } from '../../output/error-report.ts'
import type { Terminal } from '../../output/terminal.ts'
import { formatCount, pad, sanitize, truncate } from '../../output/text.ts'
import { authorityOfHome, trustAuthority } from '../../session/authority.ts'
import { bearerFor } from '../../session/bearer.ts'
import { type ConnectionOptions, connect, withConnectionOptions } from '../../session/platform-command.ts'
import { readClientConfiguration } from '../../session/settings.ts'
import { requireNew, writeBundle } from './bundle.ts'
import { type Check, type Outcome, runCheck } from './checks.ts'
import { checkDatabase } from './database.ts'
import { checkCertificate, checkHome, checkNode, checkPort } from './machine.ts'
import { checkReachable, checkShopFloor } from './platform.ts'

const marks: Readonly<Record<Outcome, string>> = { ok: '✓', warn: '!', fail: '✗', skip: '–' }

export function addCommands(doctor: Command, terminal: Terminal): void {
  withConnectionOptions(doctor)
    .option('--json', 'print JSON')
    .option('--bundle <file>', 'write an archive for support, without secrets (.tar.gz)')
    .option('--log <file>', 'add the end of a log file to the archive; - is standard input', appended, [])
    .addHelpText(
      'after',
      `
Checks this machine, the home and the database of the platform on this machine, the platform (of the profile, of --url, or
on this machine), gateways, links and jobs. The command changes nothing.

The exit code is 1 when a check fails. Warnings (!) do not change the exit code.

With --bundle, the command also writes an archive for support: checks, settings, metrics, migrations, sizes of tables,
slow statements, gateways and the end of logs. Secrets are removed. It prints a list of the contents. The exit code is 0
when the archive is complete, also if checks fail.

Examples:
  millwright doctor
  millwright doctor --profile plant-7
  millwright doctor --bundle support.tar.gz --log /var/log/millwright.log
  millwright doctor --json | jq '.data[] | select(.outcome != "ok")'`,
    )
    .action((options: DoctorOptions) => examine(terminal, options))
}

type DoctorOptions = ConnectionOptions & { bundle?: string; log: string[] }

function appended(value: string, before: string[]): string[] {
  return [...before, value]
}

async function examine(terminal: Terminal, options: DoctorOptions): Promise<void> {
  const { bundle: file, log: logs } = options
  if (file === undefined && logs.length > 0) throw usageError('--log needs --bundle.', 'pass --bundle <file>')
  if (file !== undefined) await requireNew(file)
  const checks: Check[] = []
  const report = async (some: Check[]) => {
    checks.push(...some)
    if (!options.json) for (const check of some) await terminal.print(lineOf(check))
  }
  await report([checkNode()])
  const configuration = await configurationOf(terminal, report)
  if (configuration !== undefined) {
    await report(await runCheck('Home', () => checkHome(configuration)))
    await report(await checkCertificate(configuration))
    await report(await checkDatabase(terminal.environment, configuration))
  }
  const { url, isReachable } = await checkPlatform(terminal, { options, configuration, report })
  if (configuration !== undefined) await report([await checkPort(configuration, isReachable)])
  const failed = checks.filter(({ outcome }) => outcome === 'fail').length
  const warnings = checks.filter(({ outcome }) => outcome === 'warn').length
  if (options.json) await terminal.print(JSON.stringify({ data: checks, failed, warnings }))
  else await terminal.print(`\n${checks.length} checks: ${failed} failed, ${formatCount(warnings, 'warning')}.`)
  if (file !== undefined) {
    const print = options.json ? async (line: string) => terminal.note(line) : terminal.print
    return writeBundle(terminal, { file, logs, checks, configuration, url, print })
  }
  if (failed > 0) throw new CommandError(`${formatCount(failed, 'check')} failed.`)
}

type ReportChecks = (checks: Check[]) => Promise<void>

async function configurationOf(terminal: Terminal, report: ReportChecks): Promise<CloudConfiguration | undefined> {
  try {
    const configuration = readCloudConfiguration({ ...terminal.environment })
    await report([{ name: 'Settings', outcome: 'ok', detail: 'valid (to list them: millwright config)' }])
    return configuration
  } catch (error) {
    await report([{ name: 'Settings', outcome: 'fail', detail: (error as Error).message, next: 'millwright config' }])
    return undefined
  }
}

type PlatformCheckOptions = {
  options: ConnectionOptions
  configuration: CloudConfiguration | undefined
  report: ReportChecks
}

/** Checks the platform. Returns its address, and whether it is reachable. */
async function checkPlatform(
  terminal: Terminal,
  { options, configuration, report }: PlatformCheckOptions,
): Promise<{ url: string; isReachable: boolean }> {
  const bearer = await bearerFor(options, await readClientConfiguration(terminal.environment)).catch(() => undefined)
  if (configuration !== undefined) trustAuthority(await authorityOfHome(configuration.home))
  const url = bearer?.url ?? configuration?.baseUrl ?? addressOnThisMachine(configuration)
  const reached = await checkReachable(url)
  await report(reached)
  if (reached.some(({ outcome }) => outcome === 'fail')) return { url, isReachable: false }
  if (bearer === undefined) {
    const next = `millwright login ${url}`
    await report([{ name: 'Signed in', outcome: 'warn', detail: 'no: gateways and jobs are not checked', next }])
    return { url, isReachable: true }
  }
  const session = await connect(terminal, options)
  const signedIn = await runCheck('Signed in', async () => {
    await bearer.token()
    return { name: 'Signed in', outcome: 'ok', detail: bearer.from }
  })
  await report(signedIn)
  if (signedIn.every(({ outcome }) => outcome === 'ok')) await report(await checkShopFloor(session))
  return { url, isReachable: true }
}

function addressOnThisMachine(configuration: CloudConfiguration | undefined): string {
  const { port = 8080, tlsCert } = configuration ?? {}
  return tlsCert === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
}

const nameWidth = 28

/** Formats a check as one line. Names of gateways and links are truncated, so that the columns stay aligned. */
function lineOf({ name, outcome, detail, next }: Check): string {
  return `${marks[outcome]} ${pad(truncate(sanitize(name), nameWidth), nameWidth)}  ${sanitize(detail)}${next === undefined ? '' : `\n${' '.repeat(nameWidth + 4)}→ ${next}`}`
}
