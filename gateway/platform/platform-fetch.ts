import { Readable } from 'node:stream'
import { type Dispatcher, request } from 'undici'

/** `Answer` is a response of the platform. Its body was not read yet. */
export type Answer = { status: number; headers: Dispatcher.ResponseData['headers']; body: Readable }

/** Returns a `fetch` that uses the dispatcher. It is for requests that need no token of the gateway. */
export function fetchOver(dispatcher: Dispatcher): typeof fetch {
  return async (input, init = {}) => {
    const headers = Object.fromEntries(new Headers(init.headers))
    const {
      statusCode,
      headers: answered,
      body,
    } = await request(input instanceof Request ? input.url : input, {
      dispatcher,
      method: (init.method ?? 'GET') as Dispatcher.HttpMethod,
      headers,
      body: typeof init.body === 'string' ? init.body : null,
      signal: init.signal ?? null,
    })
    return responseOf({ status: statusCode, headers: answered, body })
  }
}

/** Returns an answer as a `Response`, for the typed client. */
export function responseOf({ status, headers, body }: Answer): Response {
  const headerEntries = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  )
  const isBodiless = status === 204 || status === 304
  if (isBodiless) body.resume()
  // The cast is necessary, because the types of Node and of browsers declare the same stream differently.
  const stream = isBodiless ? null : (Readable.toWeb(body) as unknown as ReadableStream)
  return new Response(stream, { status, headers: headerEntries })
}
