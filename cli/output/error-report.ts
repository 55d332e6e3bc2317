import { Problem, type ProblemCode } from '@millwright/api/problem.ts'
import { asProblem } from '@millwright/cloud/platform/database/transient.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import { SetupError } from '@millwright/gateway/setup-error.ts'

/** The exit codes. `millwright --help` documents them. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  denied: 3,
  notFound: 4,
  conflict: 5,
  unreachable: 6,
  interrupted: 130,
} as const

export const exitCodeHelp = `Exit codes:
    0  done
    1  failed
    2  wrong usage, or invalid request
    3  not signed in, or permission denied
    4  not found
    5  conflict with the current state, for example after a change by another request
    6  the platform is not reachable, or overloaded
  130  interrupted with Ctrl-C`

/** `CommandError` describes what is wrong and the next step for the user. */
export class CommandError extends StartError {
  readonly next: string | undefined

  constructor(message: string, { exitCode = exitCodes.failed, next, cause }: CommandErrorOptions = {}) {
    super(message, { exitCode, cause })
    this.next = next
  }
}

/** `ExitStatus` ends a command with the exit code of a program that it ran, for example a shell on a device. */
export class ExitStatus extends Error {
  readonly code: number

  constructor(code: number) {
    super(`Exit code ${code}`)
    this.code = code
  }
}

type CommandErrorOptions = { exitCode?: number; next?: string; cause?: unknown }

export function usageError(message: string, next?: string): CommandError {
  return new CommandError(message, { exitCode: exitCodes.usage, ...(next === undefined ? {} : { next }) })
}

const byStatus: Readonly<Record<number, number>> = {
  401: exitCodes.denied,
  403: exitCodes.denied,
  404: exitCodes.notFound,
  408: exitCodes.unreachable,
  409: exitCodes.conflict,
  410: exitCodes.notFound,
  412: exitCodes.conflict,
  429: exitCodes.unreachable,
  500: exitCodes.failed,
  503: exitCodes.unreachable,
}

/** Returns the exit code for an error, so that scripts can distinguish errors without parsing the text. */
export function exitCodeOf(thrown: unknown): number {
  const error = asProblem(thrown)
  if (error instanceof StartError) return error.exitCode
  if (!(error instanceof Problem)) return exitCodes.failed
  if (error.code.endsWith('_not_found')) return exitCodes.notFound
  return byStatus[error.status] ?? exitCodes.usage
}

const nextSteps: Partial<Record<ProblemCode, string>> = {
  unauthenticated: 'sign in: millwright login',
  step_up_required:
    'sign in as a user with millwright login, run millwright step-up on a terminal, then repeat the command; programs use a service account',
  second_factor_required: 'add a second factor in the console, on the page of your account',
  outbound_not_allowed:
    'the operator of the platform adds the host to MILLWRIGHT_OUTBOUND_ALLOW; see docs/how-to/connect-an-identity-provider.md',
  provider_unusable: 'check the issuer and the client; see docs/how-to/connect-an-identity-provider.md',
  forbidden: 'see your permissions with millwright whoami; an administrator assigns roles with millwright access grant',
  tenant_suspended: 'the operator of the platform resumes the tenant: millwright tenants resume',
  invalid_filter:
    'see docs/reference/filters.md for the syntax; quote a filter for the shell: --filter "name eq \'Drive 12\'"',
  unknown_property: 'see docs/reference/filters.md for all properties',
  access_group_not_found: 'millwright access groups list',
  role_not_found: 'millwright access roles list',
  permission_not_found: 'millwright access permissions',
  principal_not_found: 'millwright access users list, or millwright access server-users list',
  property_not_found: 'millwright properties list',
  schema_not_found: 'millwright schemas list',
  link_not_found: 'millwright gateway links',
  node_not_found: 'list the nodes: millwright hierarchy tree <hierarchy>',
  hierarchy_not_found: 'millwright hierarchy list',
  gateway_not_ready:
    'see the state of the gateway with millwright gateway show; start the gateway with millwright gateway',
  gateway_offline: 'see the gateways with millwright remote status; start the gateway with millwright gateway',
  target_not_allowed: 'see the allowed ports of the device with millwright remote target <asset>',
  no_address: 'find the asset with a scan of its gateway: millwright discover',
  remote_access_off: 'see the switches with millwright remote status; switch it on with millwright remote on',
  web_access_off: 'open a local port instead: millwright connect <asset> 80',
  too_many_sessions: 'end sessions that are not used: millwright remote sessions --state open',
  host_key_changed:
    'check the key on the device; then delete the stored key: millwright remote host-keys <asset>, millwright remote forget-host-key <id>',
  precondition_failed: 'read the resource again, then repeat the change',
  too_many_requests: 'wait a moment, then retry',
  overloaded: 'wait a moment, then retry',
  unavailable: 'millwright doctor',
  history_gone: 'see the retention time with millwright api inventory readSettings',
}

/**
 * Returns the next step for a problem. The target of a webhook or an MQTT publisher is a field of the request; the target
 * of a remote session is not.
 */
function nextStepOf({ code, errors = [] }: Problem): string | undefined {
  if (code === 'target_not_allowed' && errors.some(({ pointer }) => pointer === '/data/url'))
    return 'plant IT adds the host to MILLWRIGHT_OUTBOUND_ALLOW and restarts the platform; see docs/how-to/receive-events.md'
  return nextSteps[code]
}

/** Replaces the parameters of the API in a message by the options of the command line. */
function withOptions(message: string): string {
  return message.replace('add recursive=true', 'pass --recursive')
}

/** Returns the text of an error for people: what is wrong, in which fields, and the next step. */
export function errorText(thrown: unknown): string {
  const error = asProblem(thrown)
  if (error instanceof Problem) {
    const { title, code, errors = [], headers } = error
    const message = withOptions(error.message)
    const text = message === '' ? title : message.startsWith(title) ? message : `${title}: ${message}`
    const request = headers['x-request-id']
    const fields = errors.filter(({ detail }) => !message.includes(detail))
    return [
      `${text} (${code})`,
      ...fields.map(({ pointer, detail }) => `  ${pointer} ${detail}`),
      ...(error.status >= 500 && request !== undefined ? [`  Request ID in the log: ${request}`] : []),
      ...nextLine(nextStepOf(error)),
    ].join('\n')
  }
  if (error instanceof CommandError) return [error.message, ...nextLine(error.next)].join('\n')
  if (error instanceof StartError || error instanceof SetupError) return error.message
  return `Internal error of the command line: ${error instanceof Error ? error.stack : String(error)}`
}

function nextLine(next: string | undefined): string[] {
  return next === undefined ? [] : [`Next: ${next}`]
}

/** Returns the error as one line of JSON: the problem document of the platform, or the message of the command. */
export function errorJson(thrown: unknown): string {
  const error = asProblem(thrown)
  if (error instanceof Problem) return JSON.stringify(error.toDocument())
  const { message } = error instanceof Error ? error : new Error(String(error))
  const next = error instanceof CommandError && error.next !== undefined ? { next: error.next } : {}
  return JSON.stringify({ title: message, code: 'command_line', ...next })
}

/** Prints the error and exits. Only internal errors print a stack trace. */
export function reportAndExit(error: unknown): never {
  if (typeof error === 'string') {
    process.stderr.write(`${error}\n`)
    process.exit(exitCodes.usage)
  }
  process.stderr.write(`\n${errorText(error)}\n`)
  process.exit(exitCodeOf(error))
}
