import { Problem } from '@millwright/api/problem.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { limits } from '../limits.ts'
import { peerScheme } from '../peer-token.ts'
import { problemPage, problemPageHeaders } from './problem-page.ts'

/** Turns any thrown value into a problem. The details of an error that is not a `Problem` are hidden. */
export function problemOf(error: unknown, { bodyLimit = limits.bodyBytes }: { bodyLimit?: number } = {}): Problem {
  if (error instanceof Problem) return error
  const { code } = error as { code?: string }
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem(
        'body_too_large',
        `The request body exceeds the limit of ${bodyLimit} bytes (${bodyLimit / 2 ** 20} MiB)`,
      )
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem(
        'unsupported_media_type',
        'Unsupported Content-Type. Use application/json, or application/x-www-form-urlencoded below /oauth',
      )
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_header', 'The length of the body differs from Content-Length')
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return new Problem('invalid_json', `The body is not valid JSON${placeOf(error)}`)
    case 'FST_ERR_BAD_URL':
      return new Problem('invalid_path', 'The path contains invalid percent-encoding')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('not_found', 'This path does not exist')
    case 'FST_ERR_CTP_EMPTY_TYPE':
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return new Problem('unsupported_media_type', 'The request has a body, but no Content-Type header. Add the header')
    default:
      if (isClientError(error)) return new Problem('invalid_header', 'The request is not valid HTTP', { cause: error })
      return new Problem(
        'internal',
        'An unexpected error occurred. The error was logged with the trace id of this response',
        {
          cause: error,
        },
      )
  }
}

/** Returns true for errors that the HTTP library attributes to the request. */
function isClientError(error: unknown): boolean {
  const { code = '', statusCode = 500 } = error as { code?: string; statusCode?: number }
  return String(code).startsWith('FST_') && statusCode >= 400 && statusCode < 500
}

/**
 * Returns the position where the parser stopped. The text at this position is not returned, because it may be part of a
 * secret.
 */
function placeOf(error: unknown): string {
  const [, position] = /at position (\d+)/.exec(String(error)) ?? []
  return position === undefined ? '' : ` (position ${position})`
}

export function send(reply: FastifyReply, problem: Problem, request: FastifyRequest): void {
  const { errorFormat, errorStatuses = {} } = request.routeOptions.config
  const document = problem.toDocument({ instance: request.url.split('?')[0] ?? '', traceId: request.id })
  document.status = errorStatuses[problem.code] ?? problem.status
  if (document.status >= 500 && isBrowser(request)) {
    const page = problemPage(document, request.headers['accept-language'])
    reply
      .code(document.status)
      .headers({ ...problem.headers, ...problemPageHeaders })
      .send(page)
    return
  }
  // Other services of the platform expect a problem, even if the contract defines another error format for clients.
  const inContractFormat = isPeer(request) ? undefined : errorFormat?.fromProblem(document)
  const { status, body } = inContractFormat ?? { status: document.status, body: document }
  const type = inContractFormat === undefined ? 'application/problem+json' : 'application/json'
  reply
    .code(status)
    .headers({ ...problem.headers, 'content-type': type })
    .send(Buffer.from(JSON.stringify(body)))
}

/** Returns whether a browser opens the path as a page. The console and other clients accept JSON. */
function isBrowser(request: FastifyRequest): boolean {
  return !isPeer(request) && /\btext\/html\b/.test(request.headers.accept ?? '')
}

function isPeer({ headers }: FastifyRequest): boolean {
  return headers.authorization?.slice(0, peerScheme.length).toLowerCase() === peerScheme.toLowerCase()
}
