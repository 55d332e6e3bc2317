import type { AnyInput } from '@millwright/api/client.ts'
import type { Contract } from '@millwright/api/contract.ts'
import { suggestion } from '@millwright/cloud/platform/configuration.ts'
import type { Command } from 'commander'
import { jsonFrom, pairOf, parsed } from '../input/json-input.ts'
import { type CommandError, usageError } from '../output/error-report.ts'
import { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { online, repeated } from '../session/platform-command.ts'
import { piecesOf } from '../session/response-text.ts'
import { problemOf, type Session } from '../session/session.ts'
import { described, type Offered, offeredOperations, parametersOf, takesSecret } from './operations.ts'

type Options = { param?: string[]; header?: string[]; body?: string; include?: boolean }

/** Every operation of every contract: what has no command of its own yet is reached here. */
export function addCommands(api: Command, terminal: Terminal): void {
  const offered = offeredOperations()
  const services = new Map(offered.map(({ contract }) => [contract.name, contract]))
  api
    .argument('[service]')
    .argument('[operation]')
    .option('--json', 'print JSON')
    .action((service: string | undefined, _operation: string | undefined, { json }: { json?: boolean }) => {
      if (service !== undefined) throw unknown('service', service, [...services.keys()])
      return list(terminal, offered, json === true)
    })
    .addHelpText(
      'after',
      `
Examples:
  millwright api                          all operations
  millwright api inventory                those of a service
  millwright api inventory readAsset --help
  millwright api inventory listAssets --param limit=2 --param fields=id,name

A body is read from a file or from standard input. Short ones may be written down as they are, but for those that hold
secrets: everybody on the machine sees the arguments of a program.`,
    )
  for (const contract of services.values()) addService(api, terminal, { contract, offered })
}

function addService(
  api: Command,
  terminal: Terminal,
  { contract, offered }: { contract: Contract; offered: readonly Offered[] },
): void {
  const own = offered.filter((one) => one.contract.name === contract.name)
  const service = api
    .command(contract.name)
    .description(contract.description)
    .argument('[operation]')
    .option('--json', 'print JSON')
    .action((operation: string | undefined, { json }: { json?: boolean }) => {
      if (operation === undefined) return list(terminal, own, json === true)
      const names = own.map(({ name }) => name)
      throw unknown('operation', operation, names)
    })
  for (const one of own) {
    const command = service
      .command(one.name)
      .description(one.operation.summary)
      .option('--param <name=value>', 'a path or query parameter; repeatable', repeated)
      .option('--header <name=value>', 'a header that the operation reads', repeated)
      .option('--include', 'also print the status and headers of the response, on standard error')
      .addHelpText('after', () => `\n${described(one)}`)
    if (one.operation.body !== undefined) command.option('--body <@file|->', 'the body, as JSON')
    online(command, terminal, (session, options: Options) => call(session, one, options))
  }
}

function unknown(kind: string, given: string, known: readonly string[]): CommandError {
  return usageError(`There is no ${kind} ${given}.${suggestion(given, known)}`, 'millwright api lists them all')
}

function list(terminal: Terminal, offered: readonly Offered[], json: boolean): Promise<void> {
  const data = offered.map(({ contract, name, operation: { method, path, summary, access } }) => ({
    service: contract.name,
    operation: name,
    method,
    path: path,
    access,
    summary,
  }))
  const columns = { service: 'service', operation: 'operation', 'what it does': 'summary' }
  return new Output(terminal, json ? 'json' : 'text').list({ data }, { columns, nothing: 'No entries.' })
}

async function call(session: Session, one: Offered, options: Options): Promise<void> {
  const input = await inputOf(session.terminal, one, options)
  const { terminal, output } = session
  const response = await session.open(one.contract, one.name, input)
  if (options.include) {
    terminal.tell(
      `${response.status}\n${[...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')}\n`,
    )
  }
  const type = response.headers.get('content-type') ?? ''
  const isJson = /[/+]json\b/.test(type)
  if (response.status >= 400) {
    const body = isJson ? await response.json() : await response.text()
    if (isOAuthError(body)) {
      throw usageError(`${body.error_description ?? body.error} (${body.error})`)
    }
    throw problemOf(one.contract, { status: response.status, headers: response.headers, body })
  }
  if (!isJson) return pour(terminal, response)
  const body = await response.json()
  if (output.format === 'ndjson' && Array.isArray(body.data)) return output.list(body, { columns: {}, nothing: '' })
  await terminal.print(output.format === 'ndjson' ? JSON.stringify(body.data ?? body) : output.json(body))
}

function isOAuthError(body: unknown): body is { error: string; error_description?: string } {
  return typeof body === 'object' && body !== null && typeof (body as { error?: unknown }).error === 'string'
}

/** What is no JSON goes out as it comes, however long it is. */
async function pour(terminal: Terminal, response: Response): Promise<void> {
  for await (const line of piecesOf(response, '\n')) await terminal.print(line)
}

async function inputOf(terminal: Terminal, one: Offered, options: Options): Promise<AnyInput> {
  const params: Record<string, string> = {}
  const query: Record<string, string> = {}
  const known = parametersOf(one.operation)
  const help = `millwright api ${one.contract.name} ${one.name} --help`
  for (const [name, value] of pairs(options.param, '--param')) {
    const parameter = known.find((candidate) => candidate.name === name)
    if (parameter === undefined) {
      const names = known.map((candidate) => candidate.name).join(', ')
      throw usageError(`There is no parameter ${name}; there ${names === '' ? 'are none' : `are ${names}`}.`, help)
    }
    Object.assign(parameter.in === 'path' ? params : query, { [name]: value })
  }
  const missing = known.filter(
    ({ name, required }) => required && params[name] === undefined && query[name] === undefined,
  )
  if (missing.length > 0)
    throw usageError(`--param ${missing.map(({ name }) => `${name}=…`).join(' --param ')} is missing.`, help)
  if (one.operation.body !== undefined && options.body === undefined) throw usageError('The body is missing.', help)
  return {
    params,
    query,
    headers: Object.fromEntries(pairs(options.header, '--header')),
    ...(options.body === undefined ? {} : { body: await bodyFrom(terminal, one, options.body) }),
  }
}

function pairs(given: readonly string[] = [], option: string): [string, string][] {
  return given.map((text) => pairOf(text, option))
}

async function bodyFrom(terminal: Terminal, one: Offered, given: string): Promise<unknown> {
  if (!given.startsWith('@') && given !== '-') {
    if (takesSecret(one)) {
      throw usageError(
        'This body may hold a secret, and everybody on the machine sees arguments.',
        'give it as --body @file or --body -',
      )
    }
    return parsed(given, 'The body')
  }
  if (given === '-') return jsonFrom(terminal, '-')
  return jsonFrom(terminal, given.slice(1))
}
