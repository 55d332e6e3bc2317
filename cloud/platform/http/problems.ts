import { Problem } from '@millwright/api/problem.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { limits } from '../limits.ts'
import { peerScheme } from '../peer-token.ts'

/** Anything that was thrown, as the one error. What is not a `Problem` is ours to hide. */
export function problemOf(error: unknown, { bodyLimit = limits.bodyBytes }: { bodyLimit?: number } = {}): Problem {
  if (error instanceof Problem) return error
  const { code } = error as { code?: string }
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', `A body has at most ${bodyLimit} bytes here (${bodyLimit / 2 ** 20} MiB)`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem(
        'unsupported_media_type',
        'Say what the body is in Content-Type: application/json, or application/x-www-form-urlencoded below /oauth',
      )
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_header', 'The body is not as long as Content-Length says')
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return new Problem('invalid_json', `The body cannot be read as JSON${placeOf(error)}`)
    case 'FST_ERR_BAD_URL':
      return new Problem('invalid_path', 'The path is not valid percent-encoding')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('not_found', 'There is nothing at this path')
    case 'FST_ERR_CTP_EMPTY_TYPE':
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return new Problem('unsupported_media_type', 'The request has a body, but no Content-Type. Send one')
    default:
      if (isClientError(error)) return new Problem('invalid_header', 'The request is not valid HTTP', { cause: error })
      return new Problem('internal', 'The fault was logged with the trace id of this answer', { cause: error })
  }
}

/** True for errors that the HTTP library blames on the request. */
function isClientError(error: unknown): boolean {
  const { code = '', statusCode = 500 } = error as { code?: string; statusCode?: number }
  return String(code).startsWith('FST_') && statusCode >= 400 && statusCode < 500
}

/** Where the parser stopped. What stood there is not repeated: it may be part of a secret. */
function placeOf(error: unknown): string {
  const [, position] = /at position (\d+)/.exec(String(error)) ?? []
  return position === undefined ? '' : ` (position ${position})`
}

export function send(reply: FastifyReply, problem: Problem, request: FastifyRequest): void {
  const document = problem.toDocument({ instance: request.url.split('?')[0] ?? '', traceId: request.id })
  const { errorWords } = request.routeOptions.config
  // Other services of ours understand the one error, whatever the contract tells its clients.
  const inOtherWords = isPeer(request) ? undefined : errorWords?.tell(document)
  const { status, body } = inOtherWords ?? { status: problem.status, body: document }
  const type = inOtherWords === undefined ? 'application/problem+json' : 'application/json'
  reply
    .code(status)
    .headers({ ...problem.headers, 'content-type': type })
    .send(Buffer.from(JSON.stringify(body)))
}

function isPeer({ headers }: FastifyRequest): boolean {
  return headers.authorization?.slice(0, peerScheme.length).toLowerCase() === peerScheme.toLowerCase()
}
