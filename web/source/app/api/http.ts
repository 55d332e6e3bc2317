import type { ProblemDocument } from '@millwright/api/problem.ts'
import { consoleCodes, Failure } from './failure.ts'

/** Sends a request and returns a successful response. Throws a `Failure` otherwise. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, { ...init, credentials: 'same-origin', cache: 'no-store' }).catch((error) => {
    if (init.signal?.aborted) throw error
    throw new Failure({
      title: 'Can’t reach the server',
      detail: 'Check that the server is running, and check your network connection',
      code: consoleCodes.noAnswer,
    })
  })
  if (response.ok) return response
  const retryAfter = Number(response.headers.get('retry-after') ?? 'none')
  throw new Failure(problemOf(await jsonOf(response), response), Number.isInteger(retryAfter) ? retryAfter : undefined)
}

/** Sends a request and returns the parsed JSON body. */
export async function send<Body>(path: string, init: RequestInit = {}): Promise<Body> {
  return (await jsonOf(await request(path, init))) as Body
}

export async function jsonOf(response: Response): Promise<unknown> {
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '')
  return isJson ? response.json().catch(() => undefined) : undefined
}

/** The statuses that a reverse proxy returns when it does not reach the platform. */
const proxyOutages = new Set([502, 503, 504])

type OAuthError = { error: string; error_description?: string }

/**
 * Returns the problem in a response body: a problem document (RFC 9457), an error of the token endpoint (RFC 6749
 * §5.2), or a general problem for any other body.
 */
function problemOf(body: unknown, { status }: Response) {
  if (isProblem(body)) return body
  const title = 'Request failed'
  if (isOAuthError(body)) {
    return { title, code: body.error, status, ...(body.error_description && { detail: body.error_description }) }
  }
  return {
    title,
    detail: `The server responded with status ${status}`,
    code: proxyOutages.has(status) ? 'unavailable' : 'internal',
    status,
  }
}

function isProblem(body: unknown): body is ProblemDocument {
  return typeof body === 'object' && body !== null && 'title' in body && typeof body.title === 'string'
}

function isOAuthError(body: unknown): body is OAuthError {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string'
}
