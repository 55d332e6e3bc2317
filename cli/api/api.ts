import { openAsBlob } from 'node:fs'
import type { AnyInput } from '@millwright/api/client.ts'
import { type Contract, isBodyRequired, type SentFile, takesFile } from '@millwright/api/contract.ts'
import { suggestion } from '@millwright/cloud/platform/configuration.ts'
import type { Command } from 'commander'
import { parseJson, parsePair, readJson } from '../input/json-input.ts'
import { type CommandError, usageError } from '../output/error-report.ts'
import { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import { splitResponse } from '../session/response-text.ts'
import { problemOf, type Session } from '../session/session.ts'
import { type ApiOperation, operationHelp, parametersOf, publicOperations, takesSecret } from './operations.ts'

type Options = { param?: string[]; header?: string[]; body?: string; include?: boolean }

/**
 * Adds a command for every public operation of every contract, including the operations that also have a dedicated
 * command.
 */
export function addCommands(api: Command, terminal: Terminal): void {
  const operations = publicOperations()
  const services = new Map(operations.map(({ contract }) => [contract.name, contract]))
  api
    .argument('[service]')
    .argument('[operation]')
    .option('--json', 'print JSON')
    .action((service: string | undefined, _operation: string | undefined, { json }: { json?: boolean }) => {
      if (service !== undefined) throw unknown('service', service, [...services.keys()])
      return list(terminal, operations, json === true)
    })
    .addHelpText(
      'after',
      `
Examples:
  millwright api                          list all operations
  millwright api inventory                list the operations of a service
  millwright api inventory readAsset --help
  millwright api inventory listAssets --param limit=2 --param fields=id,name

The body is read from a file or from standard input. A short body can be passed as an argument, unless it contains secrets:
other users of the machine can see the arguments of a program.`,
    )
  for (const contract of services.values()) addService(api, terminal, { contract, operations })
}

function addService(
  api: Command,
  terminal: Terminal,
  { contract, operations }: { contract: Contract; operations: readonly ApiOperation[] },
): void {
  const own = operations.filter((one) => one.contract.name === contract.name)
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
      .option('--param <name=value>', 'parameter of the path or the query; repeatable', collect)
      .option('--header <name=value>', 'header of the request; repeatable', collect)
      .option('--include', 'print status and headers of the response to standard error')
      .addHelpText('after', () => `\n${operationHelp(one)}`)
    if (one.operation.body !== undefined)
      command.option('--body <@file|->', takesFile(one.operation) ? 'the file to send' : 'body of the request, as JSON')
    platformCommand(command, terminal, (session, options: Options) => call(session, one, options))
  }
}

function unknown(kind: string, name: string, names: readonly string[]): CommandError {
  return usageError(`The API has no ${kind} "${name}".${suggestion(name, names)}`, 'millwright api')
}

function list(terminal: Terminal, operations: readonly ApiOperation[], json: boolean): Promise<void> {
  const data = operations.map(({ contract, name, operation: { method, path, summary, access } }) => ({
    service: contract.name,
    operation: name,
    method,
    path: path,
    access,
    summary,
  }))
  const columns = { service: 'service', operation: 'operation', description: 'summary' }
  return new Output(terminal, json ? 'json' : 'text').list({ data }, { columns, nothing: 'No operations.' })
}

async function call(session: Session, one: ApiOperation, options: Options): Promise<void> {
  const input = await inputOf(session.terminal, one, options)
  const { terminal, output } = session
  const response = await session.open(one.contract, one.name, input)
  if (options.include) {
    terminal.note(
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
  if (!isJson) return printLines(terminal, response)
  const body = await response.json()
  if (output.format === 'ndjson' && Array.isArray(body.data)) return output.list(body, { columns: {}, nothing: '' })
  await terminal.print(output.format === 'ndjson' ? JSON.stringify(body.data ?? body) : output.json(body))
}

function isOAuthError(body: unknown): body is { error: string; error_description?: string } {
  return typeof body === 'object' && body !== null && typeof (body as { error?: unknown }).error === 'string'
}

/** Prints a response that is not JSON line by line, so that a long response does not have to fit into memory. */
async function printLines(terminal: Terminal, response: Response): Promise<void> {
  for await (const line of splitResponse(response, '\n')) await terminal.print(line)
}

async function inputOf(terminal: Terminal, one: ApiOperation, options: Options): Promise<AnyInput> {
  const params: Record<string, string> = {}
  const query: Record<string, string> = {}
  const parameters = parametersOf(one.operation)
  const help = `millwright api ${one.contract.name} ${one.name} --help`
  for (const [name, value] of pairs(options.param, '--param')) {
    const parameter = parameters.find((candidate) => candidate.name === name)
    if (parameter === undefined) {
      const names = parameters.map((candidate) => candidate.name).join(', ')
      throw usageError(
        `Unknown parameter "${name}". ${names === '' ? 'The operation has no parameters' : `Parameters: ${names}`}.`,
        help,
      )
    }
    Object.assign(parameter.in === 'path' ? params : query, { [name]: value })
  }
  const missing = parameters.filter(
    ({ name, required }) => required && params[name] === undefined && query[name] === undefined,
  )
  if (missing.length > 0)
    throw usageError(`--param ${missing.map(({ name }) => `${name}=…`).join(' --param ')} is missing.`, help)
  if (isBodyRequired(one.operation) && options.body === undefined) throw usageError('The body is missing.', help)
  return {
    params,
    query,
    headers: Object.fromEntries(pairs(options.header, '--header')),
    ...(options.body === undefined ? {} : { body: await bodyFrom(terminal, one, options.body) }),
  }
}

function pairs(values: readonly string[] = [], option: string): [string, string][] {
  return values.map((text) => parsePair(text, option))
}

async function bodyFrom(terminal: Terminal, one: ApiOperation, body: string): Promise<unknown> {
  if (takesFile(one.operation)) return fileFrom(terminal, body)
  if (!body.startsWith('@') && body !== '-') {
    if (takesSecret(one)) {
      throw usageError(
        'This body may contain a secret, and other users of the machine can see arguments.',
        'pass it as --body @file or --body -',
      )
    }
    return parseJson(body, 'The body')
  }
  if (body === '-') return readJson(terminal, '-')
  return readJson(terminal, body.slice(1))
}

/** Returns the file to send. The platform recognises its format by its content. */
async function fileFrom(terminal: Terminal, body: string): Promise<SentFile> {
  const mediaType = 'application/octet-stream'
  if (body === '-') return { mediaType, content: await terminal.input() }
  if (!body.startsWith('@')) throw usageError('The body of this operation is a file.', 'pass it as --body @file')
  return { mediaType, content: await openAsBlob(body.slice(1)) }
}
