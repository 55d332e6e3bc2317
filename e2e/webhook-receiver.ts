import { createHmac, timingSafeEqual } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { CloudEvent } from '@millwright/api/events.ts'

/**
 * This program is a receiver of webhooks. It writes each event into a log file before it confirms the event, so the log is
 * complete when the process is killed. Some requests fail on purpose. Its parent sends the options as JSON in the environment.
 */

export type ReceiverOptions = {
  host: string
  port: number
  log: string
  /** The secret of each webhook, by the path of its URL. */
  secrets: Record<string, string>
  /** Each request with a number that this number divides fails: in turns before and after it is logged. */
  failEvery: number
}

/** A line of the log. `path` is the path of the URL, `message` is the id of the request. */
export type Receipt = { path: string; message: string; id: string; subject: string; sequence: string }

const options: ReceiverOptions = JSON.parse(process.env.RECEIVER_OPTIONS ?? '')
const log = openSync(options.log, 'a')
let requests = 0

const server = createServer((request, response) => {
  requests += 1
  const isFailed = requests % options.failEvery === 0
  const isLogged = !isFailed || requests % (2 * options.failEvery) === 0
  receive(request, isLogged).then(
    () => response.writeHead(isFailed ? 503 : 204).end(),
    (error: Error) => {
      process.stderr.write(`${error.message}\n`)
      response.writeHead(400).end(error.message)
    },
  )
})
// The parent may end without killing this process.
process.once('disconnect', () => process.exit(0))
server.listen(options.port, options.host, () => process.send?.('ready'))

async function receive(request: IncomingMessage, isLogged: boolean): Promise<void> {
  const path = request.url ?? ''
  const body = await buffer(request)
  requireSignature(request.headers, body, options.secrets[path] ?? '')
  const content = JSON.parse(body.toString()) as CloudEvent | CloudEvent[]
  const message = String(request.headers['webhook-id'])
  const events = Array.isArray(content) ? content : [content]
  const lines = events.map(({ id, subject, sequence }) =>
    JSON.stringify({ path, message, id, subject, sequence } satisfies Receipt),
  )
  if (isLogged) writeSync(log, `${lines.join('\n')}\n`)
}

function requireSignature(headers: IncomingHttpHeaders, body: Buffer, secret: string): void {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).update(body).digest('base64')}`)
  const actual = Buffer.from(String(headers['webhook-signature']))
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected))
    throw new Error(`The signature of the request ${headers['webhook-id']} is wrong`)
}
