import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { styleText } from 'node:util'
import { productVersion } from '@millwright/cloud/platform/version.ts'
import { readCloudConfiguration } from '@millwright/cloud/settings.ts'
import type { RunningCloud } from '@millwright/cloud/start.ts'
import { readSettings as readGatewaySettings } from '@millwright/gateway/settings.ts'
import { SetupError } from '@millwright/gateway/setup-error.ts'
import type { LocalGateway } from '../gateway/local-gateway.ts'
import { reportAndExit } from '../output/error-report.ts'
import { ensureConsole } from './console-build.ts'
import { ignoreHangUp } from './stop-signals.ts'

const interactive = process.stdout.isTTY === true

/** Starts the platform, prints how to sign in, and runs until a signal arrives. */
export async function up(args: readonly string[], environment = process.env): Promise<void> {
  if (args.length > 0) {
    return reportAndExit(
      `npm start accepts no arguments, but got "${args.join(' ')}". Settings are environment variables; npx millwright config lists them`,
    )
  }
  await runCloud({ ...environment }, { withGateway: true })
}

/** Runs the cloud part in this process until a signal arrives. If `withGateway` is set, also runs a local gateway. */
export async function runCloud(
  environment: Record<string, string | undefined>,
  { withGateway }: { withGateway: boolean },
): Promise<void> {
  const startedAt = performance.now()
  const signals = stopSignals()
  const building = ensureConsole().catch((error: Error) => void process.stderr.write(`${error.message}\n`))
  const running = await start(environment, { withGateway }).catch(reportAndExit)
  const gateway = running.hasLocalGateway ? localGateway(running, environment) : undefined
  welcomeWhenReady(running, { gateway, building, startedAt }).catch(() => {})
  const reason = await Promise.race([signals, running.failed, failureOf(gateway)])
  if (reason !== undefined) process.stderr.write(`${reason}\n`)
  else if (interactive) print('Stopping: finishing accepted requests.')
  await (await gateway?.catch(() => undefined))?.stop()
  await running.stop()
  process.exit(reason === undefined ? 0 : 1)
}

/** Reads the settings before the other modules are loaded, so that an invalid setting fails immediately. */
async function start(
  environment: Record<string, string | undefined>,
  { withGateway }: { withGateway: boolean },
): Promise<RunningCloud> {
  readCloudConfiguration(environment)
  readGatewaySettings(environment)
  const { startCloud } = await import('@millwright/cloud/start.ts')
  return startCloud(environment, { onProgress: progress, withGateway })
}

type StartState = {
  gateway: Promise<LocalGateway | undefined> | undefined
  /** The running build of the console. The API starts without waiting for the build. */
  building: Promise<unknown>
  startedAt: number
}

/**
 * Prints the welcome message when the local gateway and the build of the console are ready. With a local gateway, the
 * platform reports that it is ready only after the gateway has enrolled. Rejects when the gateway fails.
 */
async function welcomeWhenReady(running: RunningCloud, { gateway, building, startedAt }: StartState): Promise<void> {
  const started = await gateway
  if (started !== undefined) running.setReady()
  await building
  clearProgress()
  print(welcome(running, (performance.now() - startedAt) / 1000))
  if (started === undefined) return
  const { registryPort, proxyPort } = started
  print(
    `A gateway with a simulated plant is online: links register at port ${registryPort}, agents use port ${proxyPort}.`,
  )
  // The links start after the platform is ready, so that they do not delay the start.
  await started.startLinks()
}

/**
 * Starts the local gateway. An invalid gateway setting ends the platform. After any other error, the platform runs
 * without the local gateway.
 */
async function localGateway(
  running: RunningCloud,
  environment: Record<string, string | undefined>,
): Promise<LocalGateway | undefined> {
  const { startLocalGateway } = await import('../gateway/local-gateway.ts')
  try {
    return await startLocalGateway(running, environment)
  } catch (error) {
    if (error instanceof SetupError) throw error
    print(
      `The gateway on this machine did not start: ${(error as Error).message}\n` +
        '/readyz stays "not ready". To run without the gateway, set MILLWRIGHT_LOCAL_GATEWAY=off.',
    )
    return undefined
  }
}

/**
 * Resolves with the reason when the start of the local gateway fails because of an invalid setting. Otherwise the
 * promise never resolves.
 */
function failureOf(gateway: Promise<unknown> | undefined): Promise<string> {
  return new Promise((resolve) => {
    gateway?.catch((error: Error) => resolve(`The gateway on this machine did not start: ${error.message}`))
  })
}

/** Resolves at the first SIGINT or SIGTERM. Later signals are ignored while the platform stops. */
function stopSignals(): Promise<undefined> {
  ignoreHangUp()
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve(undefined))
  })
}

function progress(step: string): void {
  if (interactive) process.stdout.write(`\r\u001b[K${styleText('dim', step)}`)
}

function clearProgress(): void {
  if (interactive) process.stdout.write('\r\u001b[K')
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/**
 * Returns the message that is printed after the start: the addresses, how to sign in, and the next step. Secrets are
 * printed to a terminal only, never to a log.
 */
function welcome({ baseUrl, firstRun, home }: RunningCloud, seconds: number): string {
  const file = shortest(firstRun.file)
  const { access } = firstRun
  const lines = [
    `${styleText('bold', `Millwright ${productVersion}`)} is ready after ${seconds.toFixed(1)} s.`,
    '',
    row('Console', `${baseUrl}/`),
    row('Docs', `${baseUrl}/docs`),
    row('API', `${baseUrl}/docs/api`),
  ]
  if (access !== undefined && interactive && firstRun.isNew) {
    lines.push(
      row('Sign in', `${access.adminUser}  ${access.adminPassword}`),
      row('Programs', `${access.clientId}  ${access.clientSecret}`),
    )
    lines.push(row('', styleText('dim', `also in ${file}, readable only by you`)))
  } else if (access !== undefined) {
    lines.push(
      row('Sign in', `${access.adminUser}, password in ${file}`),
      row('Programs', `${access.clientId}, secret in ${file}`),
    )
  }
  const program = access === undefined ? '.' : `, or get a token:\n${tokenCommand(home)}`
  lines.push(row('Data', shortest(home)), '', `Next: open the console and sign in${program}`, '', 'Ctrl-C stops it.')
  return lines.join('\n')
}

/** Returns the relative path if the path is below the current folder, otherwise the absolute path. */
function shortest(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere === '' || fromHere.startsWith('..') ? path : fromHere
}

function row(name: string, value: string): string {
  return `  ${styleText('dim', name.padEnd(10))}${value}`
}

/**
 * Returns the command that prints a token, quoted for a Unix shell. Its arguments contain no secret, because other
 * users of the machine can see arguments.
 */
function tokenCommand(home: string): string {
  const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`
  const setting = home === resolve('.millwright') ? '' : `MILLWRIGHT_HOME=${quoted(home)} `
  return styleText('dim', `  ${setting}${programCommand(quoted)} token`)
}

/** Returns the command of the command line program: in a clone, that of npm or the file; in an archive, its script. */
function programCommand(quoted: (path: string) => string): string {
  const root = resolve(import.meta.dirname, '../..')
  if (existsSync(join(root, 'release.json'))) return quoted(resolve(root, '../bin/millwright'))
  return process.cwd() === root ? 'npx millwright' : `node ${quoted(join(root, 'cli/millwright.mjs'))}`
}
