import { Problem, type ProblemCode } from '@millwright/api/problem.ts'
import { asProblem } from '@millwright/cloud/platform/database/transient.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import { SetupError } from '@millwright/gateway/setup-error.ts'

/** Exit codes, as `millwright --help` documents them. */
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
    2  wrong usage, or an invalid request
    3  not signed in, or not allowed
    4  not found
    5  conflict with the current state, or modified by another request
    6  the platform cannot be reached, or is overloaded
  130  interrupted with Ctrl-C`

/** What a command cannot do, in one sentence, and what to do next. */
export class CommandError extends StartError {
  readonly next: string | undefined

  constructor(message: string, { exitCode = exitCodes.failed, next, cause }: Extras = {}) {
    super(message, { exitCode, cause })
    this.next = next
  }
}

type Extras = { exitCode?: number; next?: string; cause?: unknown }

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

/** How a program tells what went wrong without reading it. */
export function exitCodeOf(thrown: unknown): number {
  const error = asProblem(thrown)
  if (error instanceof StartError) return error.exitCode
  if (!(error instanceof Problem)) return exitCodes.failed
  if (error.code.endsWith('_not_found')) return exitCodes.notFound
  return byStatus[error.status] ?? exitCodes.usage
}

const nextSteps: Partial<Record<ProblemCode, string>> = {
  unauthenticated: 'sign in: millwright login',
  forbidden: 'millwright whoami shows what you may do; an administrator gives you a role: millwright access grant',
  tenant_suspended: 'whoever operates the platform resumes it: millwright tenants resume',
  invalid_filter:
    'the language is described in docs/reference/filters.md; quote a filter for the shell: --filter "name eq \'Drive 12\'"',
  unknown_property: 'docs/reference/filters.md lists every property',
  access_group_not_found: 'millwright access groups list shows them',
  role_not_found: 'millwright access roles list shows them',
  permission_not_found: 'millwright access permissions shows them',
  principal_not_found: 'millwright access users list and server-users list show them',
  property_not_found: 'millwright properties list shows them',
  schema_not_found: 'millwright schemas list shows them',
  link_not_found: 'millwright gateway links shows those of a gateway',
  gateway_not_ready: 'millwright gateway show tells its state; start it with millwright gateway',
  precondition_failed: 'read it again, then decide',
  too_many_requests: 'wait a moment, then repeat it',
  overloaded: 'wait a moment, then repeat it',
  unavailable: 'millwright doctor looks for the reason',
  history_gone: 'millwright api inventory readSettings tells since when the past is kept',
}

/** What people read about an error: what, where, what to do next. */
export function explained(thrown: unknown): string {
  const error = asProblem(thrown)
  if (error instanceof Problem) {
    const { title, message, code, errors = [], headers } = error
    const text = message === '' ? title : message.startsWith(title) ? message : `${title}: ${message}`
    const request = headers['x-request-id']
    const places = errors.filter(({ detail }) => !message.includes(detail))
    return [
      `${text} (${code})`,
      ...places.map(({ pointer, detail }) => `  ${pointer} ${detail}`),
      ...(error.status >= 500 && request !== undefined ? [`  It was logged as request ${request}.`] : []),
      ...nextLine(nextSteps[code]),
    ].join('\n')
  }
  if (error instanceof CommandError) return [error.message, ...nextLine(error.next)].join('\n')
  if (error instanceof StartError || error instanceof SetupError) return error.message
  return `Millwright failed in a way it should not: ${error instanceof Error ? error.stack : String(error)}`
}

function nextLine(next: string | undefined): string[] {
  return next === undefined ? [] : [`Next: ${next}`]
}

/** The same for programs: one line, the problem as the platform told it. */
export function asJson(thrown: unknown): string {
  const error = asProblem(thrown)
  if (error instanceof Problem) return JSON.stringify(error.toDocument())
  const { message } = error instanceof Error ? error : new Error(String(error))
  const next = error instanceof CommandError && error.next !== undefined ? { next: error.next } : {}
  return JSON.stringify({ title: message, code: 'command_line', ...next })
}

/** One clear sentence and an exit code. A stack trace is for faults of ours only. */
export function reportAndExit(error: unknown): never {
  if (typeof error === 'string') {
    process.stderr.write(`${error}\n`)
    process.exit(exitCodes.usage)
  }
  process.stderr.write(`\n${explained(error)}\n`)
  process.exit(exitCodeOf(error))
}
