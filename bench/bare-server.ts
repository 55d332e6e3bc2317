import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { openStatementSender, RecordedStatement } from './statement-sender.ts'

type StatementSender = Awaited<ReturnType<typeof openStatementSender>>

/**
 * `serveStatements` starts the reference server, which shows the minimum cost of a response with the same content. The
 * server uses only Node's HTTP server and the database driver: it sends the statements and returns their rows as JSON.
 * It checks no token, permission or input, and has no routes.
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

/** Returns a row as JSON. If the row has a column `document`, that column already contains the JSON text. */
function printed(row: unknown): string {
  const { document } = row as { document?: unknown }
  return typeof document === 'string' ? document : JSON.stringify(row)
}
