import {
  type Contract,
  type InputOf,
  isEmpty,
  isEventStream,
  isMedia,
  type Operation,
  pathOf,
  type ResultOf,
  type SentFile,
  type SocketOperation,
  takesFile,
} from './contract.ts'
import { Problem, type ProblemCode, problemFrom } from './problem.ts'

/** The response of a call, with status and headers. */
export type Exchange<Body = unknown> = { status: number; headers: Headers; body: Body }

export type AnyInput = {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  headers?: Record<string, string | undefined>
}

/** Sends a call to its service, over HTTP or within the process. */
export type Transport = (contract: Contract, operation: string, input: AnyInput) => Promise<Exchange>

/** A client of a contract, without the operations that are WebSockets. */
export type Client<C extends Contract> = {
  [Name in keyof C['operations'] as C['operations'][Name] extends SocketOperation ? never : Name]: (
    input: InputOf<C['operations'][Name]>,
    heard?: (answer: Exchange) => void,
  ) => Promise<ResultOf<C['operations'][Name]>>
}

/**
 * Returns a typed client with one function for each operation. A function returns the body, and throws a `Problem` for
 * an error. A caller that needs the status or the headers passes `heard`, which receives the whole response.
 */
export function client<C extends Contract>(contract: C, transport: Transport): Client<C> {
  const functions = Object.keys(contract.operations).map((name) => [
    name,
    async (input: AnyInput, heard?: (answer: Exchange) => void) => {
      const exchange = await transport(contract, name, input)
      if (exchange.status >= 400) throw errorOf(contract, name, exchange)
      heard?.(exchange)
      return exchange.body
    },
  ])
  return Object.fromEntries(functions) as Client<C>
}

/** The codes of errors without a body, which is the case for `HEAD`, by status. */
const bodylessCodes: Readonly<Record<number, ProblemCode>> = {
  400: 'invalid_query',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  429: 'too_many_requests',
}

function errorOf(contract: Contract, name: string, { status, body }: Exchange): Problem {
  const code = contract.operations[name]?.method === 'HEAD' ? bodylessCodes[status] : undefined
  if (code !== undefined) return new Problem(code, `The server responded with HTTP status ${status}`)
  return problemFrom(toProblemDocument(contract, body), status)
}

/**
 * Converts an error body to a problem document if the contract uses the error format of another API. The callers of a
 * client handle problem documents only.
 */
function toProblemDocument({ errorFormat }: Contract, body: unknown): unknown {
  return errorFormat?.toProblem(body) ?? body
}

/** A body that is already serialised and is sent unchanged. */
class Printed {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Wraps JSON text as the body of a call over HTTP. The text is sent unchanged, so it is not parsed and serialised
 * again.
 */
export function printed<Body>(text: string): Body {
  return new Printed(text) as Body
}

export type HttpRequest = {
  method: string
  path: string
  headers: Record<string, string>
  body?: string | SentFile['content']
}

/** Returns the HTTP request of a call. */
export function requestFor(contract: Contract, operation: Operation, input: AnyInput): HttpRequest {
  const path = pathOf(contract, operation).replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(input.params?.[name] ?? ''),
  )
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined) query.append(name, String(value))
  }
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(input.headers ?? {})) if (value !== undefined) headers[name] = value
  const request: HttpRequest = { method: operation.method, path: query.size === 0 ? path : `${path}?${query}`, headers }
  if (input.body === undefined) return request
  if (takesFile(operation)) {
    const { mediaType, content } = input.body as SentFile
    headers['content-type'] = mediaType
    return { ...request, body: content }
  }
  const type = operation.bodyType ?? 'application/json'
  headers['content-type'] = type
  if (input.body instanceof Printed) request.body = input.body.text
  else
    request.body =
      type === 'application/x-www-form-urlencoded'
        ? new URLSearchParams(input.body as Record<string, string>).toString()
        : JSON.stringify(input.body)
  return request
}

export type HttpOptions = {
  baseUrl: string
  /** Returns the access token. This function is called before each request, so that a renewed token is used. */
  token?: () => string | undefined | Promise<string | undefined>
  fetch?: typeof fetch
}

/** Returns a transport that sends calls over HTTP, in a browser or in Node. */
export function overHttp({ baseUrl, token, fetch: send = fetch }: HttpOptions): Transport {
  return async (contract, name, input) => {
    const operation = contract.operations[name]
    if (operation === undefined) throw new TypeError(`${contract.name} has no operation ${name}`)
    const request = requestFor(contract, operation, input)
    const bearer = await token?.()
    if (bearer !== undefined) request.headers.authorization ??= `Bearer ${bearer}`
    const response = await send(new URL(request.path, baseUrl), {
      method: request.method,
      headers: request.headers,
      redirect: 'manual',
      ...(request.body === undefined ? {} : { body: request.body }),
      // Node requires this option for a body that is a stream.
      ...(request.body instanceof ReadableStream ? { duplex: 'half' } : {}),
    })
    return { status: response.status, headers: response.headers, body: await bodyOf(operation, response) }
  }
}

async function bodyOf(operation: Operation, response: Response): Promise<unknown> {
  const answer = operation.answers[response.status]
  if (answer !== undefined && isEmpty(answer)) return undefined
  if (isEventStream(answer)) return response.body
  const type = response.headers.get('content-type') ?? ''
  if (answer !== undefined && isMedia(answer)) return isText(type) ? await response.text() : response.body
  const text = await response.text()
  if (text === '') return undefined
  return /[/+]json/.test(type) ? JSON.parse(text) : text
}

/** Returns whether the content of a media type is text. Other content is bytes. */
function isText(mediaType: string): boolean {
  return /^text\/|[/+](?:x-nd)?json|[/+]xml|^$/.test(mediaType)
}
