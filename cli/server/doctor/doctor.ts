import { type CloudConfiguration, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import type { Command } from 'commander'
import { CommandError } from '../../output/error-report.ts'
import type { Terminal } from '../../output/terminal.ts'
import { cut, padded, plain } from '../../output/text.ts'
import { bearerFor } from '../../session/bearer.ts'
import { type Connection, connect, connecting } from '../../session/platform-command.ts'
import { readClientConfiguration } from '../../session/settings.ts'
import { type Check, examined, type Outcome } from './checks.ts'
import { checkDatabase } from './database.ts'
import { checkHome, checkNode, checkPort } from './machine.ts'
import { checkFloor, checkReachable } from './platform.ts'

const marks: Readonly<Record<Outcome, string>> = { ok: '✓', warn: '!', fail: '✗', skip: '–' }

export function addCommands(doctor: Command, terminal: Terminal): void {
  connecting(doctor)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Looks at this machine, at the home and the database of a platform that runs here, at the platform itself (that of the
profile, of --url, or the one that runs here), at gateways, links and jobs. Nothing is changed.

Ends with 1 when something fails; what is only worth a look (!) does not count.

Examples:
  millwright doctor
  millwright doctor --profile plant-7
  millwright doctor --json | jq '.data[] | select(.outcome != "ok")'`,
    )
    .action((options: Connection) => examine(terminal, options))
}

async function examine(terminal: Terminal, options: Connection): Promise<void> {
  const checks: Check[] = []
  const found = async (some: Check[]) => {
    checks.push(...some)
    if (!options.json) for (const check of some) await terminal.print(lineOf(check))
  }
  await found([checkNode()])
  const configuration = await configurationOf(terminal, found)
  if (configuration !== undefined) {
    await found(await examined('Home', () => checkHome(configuration)))
    await found(await checkDatabase(terminal.environment, configuration))
  }
  const reachable = await checkPlatform(terminal, { options, configuration, found })
  if (configuration !== undefined) await found([await checkPort(configuration, reachable)])
  const failed = checks.filter(({ outcome }) => outcome === 'fail').length
  const noted = checks.filter(({ outcome }) => outcome === 'warn').length
  if (options.json) await terminal.print(JSON.stringify({ data: checks, failed, warnings: noted }))
  else await terminal.print(`\n${failed} fail, ${noted} are worth a look, ${checks.length} were looked at.`)
  if (failed > 0) throw new CommandError(`${failed} checks failed.`)
}

type Found = (checks: Check[]) => Promise<void>

async function configurationOf(terminal: Terminal, found: Found): Promise<CloudConfiguration | undefined> {
  try {
    const configuration = readCloudConfiguration({ ...terminal.environment })
    await found([{ name: 'Settings', outcome: 'ok', detail: 'can be understood (millwright config shows them)' }])
    return configuration
  } catch (error) {
    await found([{ name: 'Settings', outcome: 'fail', detail: (error as Error).message, next: 'millwright config' }])
    return undefined
  }
}

type Looking = { options: Connection; configuration: CloudConfiguration | undefined; found: Found }

/** True when a platform answers. */
async function checkPlatform(terminal: Terminal, { options, configuration, found }: Looking): Promise<boolean> {
  const bearer = await bearerFor(options, await readClientConfiguration(terminal.environment)).catch(() => undefined)
  const url = bearer?.url ?? configuration?.baseUrl ?? `http://127.0.0.1:${configuration?.port ?? 8080}`
  const reached = await checkReachable(url)
  await found(reached)
  if (reached.some(({ outcome }) => outcome === 'fail')) return false
  if (bearer === undefined) {
    const next = `millwright login ${url}`
    await found([{ name: 'Signed in', outcome: 'warn', detail: 'no: gateways and jobs cannot be looked at', next }])
    return true
  }
  const session = await connect(terminal, options)
  const signedIn = await examined('Signed in', async () => {
    await bearer.token()
    return { name: 'Signed in', outcome: 'ok', detail: bearer.from }
  })
  await found(signedIn)
  if (signedIn.every(({ outcome }) => outcome === 'ok')) await found(await checkFloor(session))
  return true
}

const nameWidth = 28

/** Gateways and links are called as people and devices like: a name must not push the rest out of its column. */
function lineOf({ name, outcome, detail, next }: Check): string {
  return `${marks[outcome]} ${padded(cut(plain(name), nameWidth), nameWidth)}  ${plain(detail)}${next === undefined ? '' : `\n${' '.repeat(nameWidth + 4)}→ ${next}`}`
}
