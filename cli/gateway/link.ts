import { existsSync, globSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import type { CheckResult } from '@millwright/link-sdk/conformance/check.ts'
import { readCredentials, readRequest } from '@millwright/link-sdk/conformance/request.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import type { LinkDefinition } from '@millwright/link-sdk/define-link.ts'
import { runLink } from '@millwright/link-sdk/run-link.ts'
import { scaffoldLink } from '@millwright/link-sdk/scaffold.ts'
import { UsageError } from '@millwright/link-sdk/settings.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { CommandError, exitCodes } from '../output/error-report.ts'

const linksFolder = resolve(import.meta.dirname, '../../links')

type TestOptions = {
  vendor?: string
  request?: string
  credentials?: string
  registry?: string
  timeout: number
  json?: boolean
}

export function addCommands(link: Command): void {
  link.enablePositionalOptions()

  link
    .command('new')
    .description('create a link from a template')
    .argument('<name>', 'small letters, digits and -; with a / it is a path')
    .addHelpText('after', '\nExamples:\n  millwright link new ovens\n  millwright link new ~/links/ovens')
    .action((name: string) => create(name.includes('/') ? name : join(linksFolder, name)))

  link
    .command('test')
    .description('check that a link conforms to the protocol, in any language')
    .argument('<host:port>', 'where the link listens', endpoint)
    .option('--vendor <prefix>', 'whose names of the protocol it speaks (default: tries those that are known)')
    .option('--request <json>', 'what to discover: a DiscoverRequest in JSON; @file reads it from a file')
    .option('--credentials <@file>', 'what opens a protected device, as JSON; @/dev/stdin reads it from a pipe')
    .option('--registry <host:port>', 'a registry that should know the link')
    .option('--timeout <seconds>', 'of one call', seconds, 30)
    .option('--json', 'one line of JSON for each check')
    .addHelpText(
      'after',
      `
Examples:
  millwright link test localhost:8081
  millwright link test localhost:8081 --vendor siemens --request '{"filters":[{"key":"ip_range","value":{"text":"10.0.0.1-10.0.0.20"}}]}'`,
    )
    .action(test)

  link
    .command('run')
    .description('run a link; arguments after its name are for the link')
    .argument('<name>', `${names().join(', ')}, or the path of a folder with a link`)
    .argument('[arguments...]', '--help shows them')
    .allowUnknownOption()
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Examples:
  millwright link run plant
  millwright link run ovens --port 8081
  millwright link run ovens --help`,
    )
    .action(run)
}

function names(): string[] {
  return globSync('*/link.ts', { cwd: linksFolder })
    .map((file) => dirname(file))
    .toSorted()
}

async function create(folder: string): Promise<void> {
  const files = await scaffoldLink(folder).catch(asStartError)
  for (const file of files) console.log(relative(process.cwd(), file))
  console.log(`
It finds two simulated devices and passes its test. Next:
  1. device.ts: speak to the real ones
  2. manifest.ts: its id, its name, its filters and options
  3. millwright link run ${names().includes(basename(folder)) ? basename(folder) : folder} --port 8081
  4. millwright link test localhost:8081`)
}

async function run(name: string, given: string[]): Promise<void> {
  const folder = names().includes(name) ? join(linksFolder, name) : resolve(name)
  const file = join(folder, 'link.ts')
  if (!existsSync(file)) {
    throw new CommandError(`There is no link ${name}, and no folder with one.`, {
      exitCode: exitCodes.notFound,
      next: `there is ${names().join(', ')}; make your own: millwright link new ${basename(name)}`,
    })
  }
  lendPackages()
  const { link }: { link: LinkDefinition } = await import(pathToFileURL(file).href).catch(cannotLoad(file))
  await runLink(link, given)
}

/** A link may lie anywhere; what it stands on lies here. */
function lendPackages(): void {
  registerHooks({
    resolve: (name, context, next) =>
      next(name, name.startsWith('@millwright/') ? { ...context, parentURL: import.meta.url } : context),
  })
}

function cannotLoad(file: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new CommandError(`${file} cannot be loaded: ${error.message}.`, {
      next: 'install what it needs beside it, or check its imports',
    })
  }
}

const marks = { pass: '✓', fail: '✗', skip: '–' } as const

async function test(address: string, { request, credentials, timeout, json, ...given }: TestOptions): Promise<void> {
  const settings = {
    ...given,
    endpoint: address,
    withinMs: timeout * 1_000,
    ...(request === undefined ? {} : { request: await readRequest(request).catch(asStartError) }),
    ...(credentials === undefined ? {} : { credentials: await readCredentials(credentials).catch(asStartError) }),
  }
  const counts = { pass: 0, fail: 0, skip: 0 }
  for await (const result of checkLink(settings)) {
    counts[result.outcome] += 1
    console.log(json ? JSON.stringify(result) : lines(result))
  }
  if (!json) console.log(`\n${counts.pass} hold, ${counts.fail} do not, ${counts.skip} say nothing about this link.`)
  if (counts.fail > 0) process.exitCode = exitCodes.failed
}

function lines({ sentence, outcome, detail, hint }: CheckResult): string {
  const more = [detail, hint].filter((line) => line !== undefined).map((line) => `\n    ${line}`)
  return `${marks[outcome]} ${sentence}.${more.join('')}`
}

function endpoint(given: string): string {
  if (/^.+:\d{1,5}$/.test(given)) return given
  throw new InvalidArgumentError('It is a host and a port: localhost:8081.')
}

function seconds(given: string): number {
  const value = Number(given)
  if (value > 0 && value <= 3_600) return value
  throw new InvalidArgumentError('It is a number of seconds, 3600 at most.')
}

function asStartError(error: unknown): never {
  throw error instanceof UsageError ? new StartError(error.message) : error
}
