import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { openStatementSender, RecordedStatement } from './statement-sender.ts'

type StatementSender = Awaited<ReturnType<typeof openStatementSender>>

/**
 * `serveStatements` is the reference server. It shows the minimum cost of a response with the same content. It uses
 * only the HTTP server of Node, the database driver, the statements, and their rows as JSON. The server checks no
 * token, permission or input, and has no routes.
 */
export async function serveStatements(sender: StatementSender) {
  let statements: readonly RecordedStatement[] = []
  const server = createServer((_request, response) => {
    sender.send(statements).then((results) => {
      const body = `{"data":[${results.flat().map(printed).join(',')}]}`
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      response.end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    answerWith(next: readonly RecordedStatement[]): void {
      statements = next
    },
  }
}

/** Returns a row as JSON. A document column already contains JSON text. */
function printed(row: unknown): string {
  const { document } = row as { document?: unknown }
  return typeof document === 'string' ? document : JSON.stringify(row)
}
