/**
 * A receiver for webhooks of Millwright in plain Node, without dependencies. It checks the signature and the time of each
 * request, handles each event once, and prints it. Replace `handle` by the code of your system.
 *
 *   WEBHOOK_SECRETS=whsec_… node webhook-receiver.mjs
 *
 * During a change of the secret, pass both secrets, separated by a comma. HOST and PORT set the address.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const secrets = (process.env.WEBHOOK_SECRETS ?? '').split(',').filter((secret) => secret.startsWith('whsec_'))
const host = process.env.HOST ?? '127.0.0.1'
const port = Number(process.env.PORT ?? 8095)

/** A request with an older time is refused, so that an attacker cannot repeat a recorded request later. */
const toleranceSeconds = 5 * 60
const maxBodyBytes = 16 * 1024 * 1024
/** How many ids of handled events are kept to detect duplicates. */
const maxIds = 100_000

const keys = secrets.map((secret) => Buffer.from(secret.slice('whsec_'.length), 'base64'))

/** Does the work for one event. The platform sends the event again if this function throws. */
async function handle(event) {
  console.log(`${event.sequence} ${event.type} ${event.subject} ${event.id}`)
}

/** Returns whether one of the secrets signed the request, not longer ago than the tolerance. */
function isSigned(headers, body) {
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  if (id === undefined || signatures === undefined || !/^\d{1,12}$/.test(timestamp ?? '')) return false
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceSeconds) return false
  const expected = keys.map((key) => createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest())
  return signatures.split(' ').some((text) => {
    const [version, value = ''] = text.split(',')
    const signature = Buffer.from(value, 'base64')
    return version === 'v1' && expected.some((hmac) => isEqual(hmac, signature))
  })
}

/** Compares in a time that does not depend on the content, so that an attacker cannot guess a signature byte by byte. */
function isEqual(one, other) {
  return one.length === other.length && timingSafeEqual(one, other)
}

/** The events that are handled now or were handled, by id. A real system stores the ids with the effect of the event. */
const handled = new Map()

/** Handles an event that may arrive twice. The platform sends an event again if a confirmation is lost. */
async function handleOnce(event) {
  const before = handled.get(event.id)
  if (before !== undefined) return before
  const work = handle(event)
  handled.set(event.id, work)
  if (handled.size > maxIds) handled.delete(handled.keys().next().value)
  try {
    await work
  } catch (error) {
    handled.delete(event.id)
    throw error
  }
}

/** Reads the body as bytes: the signature belongs to these bytes, and not to JSON that was parsed and written again. */
async function readBody(request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Returns the status of the response. Every status from 200 to 299 confirms the events. Never return 410 for an error. */
async function receive(request) {
  if (request.method !== 'POST') return 405
  const body = await readBody(request)
  if (body === undefined) return 413
  if (!isSigned(request.headers, body)) return 401
  // With a batch size above 1, the body is an array. Its events must be handled in order.
  for (const event of [JSON.parse(body.toString())].flat()) await handleOnce(event)
  return 204
}

if (keys.length === 0) {
  console.error('Set WEBHOOK_SECRETS to the secret that the platform has shown: whsec_…')
  process.exit(2)
}

const server = createServer((request, response) => {
  receive(request)
    .catch((error) => {
      console.error(error)
      return 500
    })
    .then((status) => response.writeHead(status, status === 413 ? { connection: 'close' } : {}).end())
})
server.listen(port, host, () => console.log(`Listening on http://${host}:${server.address().port}`))
