import { existsSync, globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ArtefactKind, artefactKinds } from '@millwright/api/updates.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import type { CheckResult } from '@millwright/link-sdk/conformance/check.ts'
import { readCredentials, readRequest } from '@millwright/link-sdk/conformance/request.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import type { LinkDefinition } from '@millwright/link-sdk/define-link.ts'
import { runLink } from '@millwright/link-sdk/run-link.ts'
import { scaffoldLink } from '@millwright/link-sdk/scaffold.ts'
import { UsageError } from '@millwright/link-sdk/settings.ts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'

const linksFolder = resolve(import.meta.dirname, '../../links')

type TestOptions = {
  vendor?: string
  request?: string
  credentials?: string
  registry?: string
  update?: string
  kind: ArtefactKind
  timeout: number
  json?: boolean
}

export function addCommands(link: Command): void {
  link.enablePositionalOptions()

  link
    .command('new')
    .description('create a link from a working template')
    .argument('<name>', 'lower-case letters, digits and -; a name with / is a path')
    .addHelpText('after', '\nExamples:\n  millwright link new ovens\n  millwright link new ~/links/ovens')
    .action((name: string) => create(name.includes('/') ? name : join(linksFolder, name)))

  link
    .command('test')
    .description('test whether a link conforms to the protocol; the link can be written in any language')
    .argument('<host:port>', 'address of the link', endpoint)
    .option('--vendor <prefix>', 'vendor prefix of its protocol names (default: try all configured prefixes)')
    .option('--request <json>', 'DiscoverRequest as JSON; @file reads it from a file')
    .option('--credentials <@file>', 'credentials of a protected device, as JSON; @/dev/stdin reads them from a pipe')
    .option('--registry <host:port>', 'a registry where the link should be registered')
    .option(
      '--update <file>',
      'artefact to install on the first device that is found; without it, no device is changed',
    )
    .addOption(new Option('--kind <kind>', 'kind of the artefact').choices(artefactKinds).default('firmware'))
    .option('--timeout <seconds>', 'time limit of one call', seconds, 30)
    .option('--json', 'print one line of JSON for each check')
    .addHelpText(
      'after',
      `
Examples:
  millwright link test localhost:8081
  millwright link test localhost:8081 --update oven-1.1.0.bin
  millwright link test localhost:8081 --vendor siemens --request '{"filters":[{"key":"ip_range","value":{"text":"10.0.0.1-10.0.0.20"}}]}'`,
    )
    .action(test)

  link
    .command('run')
    .description('run a link; arguments after its name are passed to the link')
    .argument('<name>', `${names().join(', ')}, or the path of a folder with a link`)
    .argument('[arguments...]', 'arguments of the link; see --help')
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
The link finds two simulated devices and passes its test. Next:
  1. device.ts: connect to the real devices
  2. manifest.ts: set the id, the name, filters and options
  3. millwright link run ${names().includes(basename(folder)) ? basename(folder) : folder} --port 8081
  4. millwright link test localhost:8081
If the devices cannot be updated, remove update.ts and its line in link.ts.`)
}

async function run(name: string, args: string[]): Promise<void> {
  const folder = names().includes(name) ? join(linksFolder, name) : resolve(name)
  const file = join(folder, 'link.ts')
  if (!existsSync(file)) {
    throw new CommandError(`Link "${name}" not found.`, {
      exitCode: exitCodes.notFound,
      next: `use one of ${names().join(', ')}, the path of a folder, or create a link: millwright link new ${basename(name)}`,
    })
  }
  resolvePackagesHere()
  const { link }: { link: LinkDefinition } = await import(pathToFileURL(file).href).catch(cannotLoad(file))
  await runLink(link, args)
}

/** Resolves `@millwright` imports from this checkout, because the folder of a link can be anywhere. */
function resolvePackagesHere(): void {
  registerHooks({
    resolve: (name, context, next) =>
      next(name, name.startsWith('@millwright/') ? { ...context, parentURL: import.meta.url } : context),
  })
}

function cannotLoad(file: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new CommandError(`${file} cannot be loaded: ${error.message}.`, {
      next: 'install its dependencies in its folder, or check its imports',
    })
  }
}

async function readArtefact(file: string): Promise<Buffer> {
  return readFile(file).catch(({ code }: NodeJS.ErrnoException) => {
    throw usageError(`${file} cannot be read (${code}).`)
  })
}

const marks = { pass: '✓', fail: '✗', skip: '–' } as const

async function test(address: string, options: TestOptions): Promise<void> {
  const { request, credentials, update, kind, timeout, json, ...rest } = options
  const settings = {
    ...rest,
    endpoint: address,
    withinMs: timeout * 1_000,
    ...(request === undefined ? {} : { request: await readRequest(request).catch(asStartError) }),
    ...(credentials === undefined ? {} : { credentials: await readCredentials(credentials).catch(asStartError) }),
    ...(update === undefined ? {} : { update: { kind, content: await readArtefact(update) } }),
  }
  const counts = { pass: 0, fail: 0, skip: 0 }
  for await (const result of checkLink(settings)) {
    counts[result.outcome] += 1
    console.log(json ? JSON.stringify(result) : lines(result))
  }
  if (!json) console.log(`\n${counts.pass} passed, ${counts.fail} failed, ${counts.skip} not applicable.`)
  if (counts.fail > 0) process.exitCode = exitCodes.failed
}

function lines({ sentence, outcome, detail, hint }: CheckResult): string {
  const more = [detail, hint].filter((line) => line !== undefined).map((line) => `\n    ${line}`)
  return `${marks[outcome]} ${sentence}.${more.join('')}`
}

function endpoint(text: string): string {
  if (/^.+:\d{1,5}$/.test(text)) return text
  throw new InvalidArgumentError('Expected a host and a port, such as localhost:8081.')
}

function seconds(text: string): number {
  const value = Number(text)
  if (value > 0 && value <= 3_600) return value
  throw new InvalidArgumentError('Expected a number of seconds, 3600 at most.')
}

function asStartError(error: unknown): never {
  throw error instanceof UsageError ? new StartError(error.message) : error
}
