// @ts-check
/** @import { FieldError, ProblemDocument } from '@millwright/api/problem.ts' */

/** Something was refused or did not work: what the platform answered, or that it did not. */
export class Failure extends Error {
  /** @param {Omit<Partial<ProblemDocument>, 'code'> & { title: string, code: string }} problem @param {{ retryAfter?: number }} [more] */
  constructor({ title, detail, code, status, errors, traceId }, { retryAfter } = {}) {
    super(retryAfter === undefined ? (detail ?? title) : `${detail ?? title}. Try again in ${inWords(retryAfter)}`)
    this.title = title
    this.code = code
    this.status = status ?? 0
    /** @type {FieldError[]} */
    this.errors = errors ?? []
    /** For whoever looks into the log: faults of the platform only. */
    this.traceId = this.status >= 500 ? traceId : undefined
  }
}

/** @param {number} seconds */
function inWords(seconds) {
  if (seconds < 120) return seconds === 1 ? '1 second' : `${seconds} seconds`
  return `${Math.ceil(seconds / 60)} minutes`
}

/**
 * Sends a request and answers with the body; throws a `Failure` for everything else.
 *
 * @param {string} path
 * @param {{ method?: string, headers?: Record<string, string>, body?: BodyInit }} [request]
 * @returns {Promise<any>} as the contract of the path says
 */
export async function send(path, request = {}) {
  const response = await fetch(path, { ...request, credentials: 'same-origin', cache: 'no-store' }).catch(() => {
    throw new Failure({
      title: 'The platform does not answer',
      detail: 'Check that it runs and that this machine reaches it',
      code: 'no_answer',
    })
  })
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '')
  const body = isJson ? await response.json().catch(() => undefined) : undefined
  if (response.ok) return body
  const retryAfter = Number(response.headers.get('retry-after') ?? 'none')
  throw new Failure(problemIn(body, response), Number.isInteger(retryAfter) ? { retryAfter } : {})
}

/** Problem documents (RFC 9457), and the errors of the token endpoint (RFC 6749 §5.2). @param {any} body @param {Response} response */
function problemIn(body, { status }) {
  if (typeof body?.title === 'string') return body
  const title = 'The platform could not do this'
  if (typeof body?.error === 'string') return { title, detail: body.error_description, code: body.error, status }
  return { title, detail: `It answered with status ${status}`, code: 'internal', status }
}

/**
 * @param {string} path
 * @param {{ token: string, method?: string, data?: unknown, headers?: Record<string, string> }} options
 */
export function call(path, { token, method = 'GET', data, headers = {} }) {
  const sent = { authorization: `Bearer ${token}`, ...headers }
  if (data === undefined) return send(path, { method, headers: sent })
  return send(path, {
    method,
    headers: { ...sent, 'content-type': 'application/json' },
    body: JSON.stringify({ data }),
  })
}
