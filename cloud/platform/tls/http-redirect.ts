import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StartError } from '../start-error.ts'

const limits = { headerBytes: 16 * 1024, requestMs: 10_000, connections: 1_000 }

export type HttpRedirect = { port: number; close(): Promise<void> }

/**
 * Listens for requests without TLS. It redirects pages to the base URL, and refuses other requests, because their content
 * was already sent without encryption. The target never depends on the host of the request.
 */
export async function startHttpRedirect({
  host,
  port,
  baseUrl,
}: {
  host: string
  port: number
  baseUrl: string
}): Promise<HttpRedirect> {
  const server = createServer(
    { maxHeaderSize: limits.headerBytes, requestTimeout: limits.requestMs, headersTimeout: limits.requestMs },
    (request, response) => answer(request, response, baseUrl),
  )
  server.maxConnections = limits.connections
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  }).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(
      `Cannot listen on port ${port} (${error.code}): set MILLWRIGHT_HTTP_REDIRECT_PORT to a free port, or remove it.`,
    )
  })
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function answer({ method, url = '/' }: IncomingMessage, response: ServerResponse, baseUrl: string): void {
  const common = { connection: 'close', 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' }
  if (method === 'GET' || method === 'HEAD') {
    // A request line can contain a complete URL. Its host is ignored.
    const path = url.startsWith('/') ? url : '/'
    response.writeHead(308, { ...common, location: `${baseUrl}${path}` }).end()
    return
  }
  response
    .writeHead(426, { ...common, upgrade: 'TLS/1.2, HTTP/1.1', connection: 'upgrade, close' })
    .end(`This port accepts no data, because it is not encrypted. Send the request to ${baseUrl}\n`)
}
