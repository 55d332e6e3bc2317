import type { KeyObject } from 'node:crypto'
import { type Attempt, statusErrorStart, subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import type { Dispatcher, Pool } from 'undici'
import type { Scope } from '../../../platform/database/database.ts'
import type { Context } from '../../../platform/service.ts'
import { productVersion } from '../../../platform/version.ts'
import { connectionError } from '../connection-error.ts'
import type { Channel, Message, Outcome } from '../delivery/channel.ts'
import { type SubscriptionRow, secretOwner, type WebhookDetails } from '../subscription-store.ts'
import { signatureOf, signingKey } from './signature.ts'

const limits = {
  /** The maximum number of connections to the receiver of one webhook. */
  connections: 32,
  /** The bytes of the response that are read. If the response is longer, the connection is closed. */
  bodyBytes: 16_384,
  /** How long the body of a response is read. */
  bodyMs: 1_000,
  headerCharacters: 200,
  /** The maximum number of informational responses (1xx) before the response. */
  informational: 1_000,
} as const

/** The headers of a response that the log contains. Other headers can contain secrets, such as cookies. */
const loggedHeaders = ['content-type', 'retry-after', 'server'] as const

const success = { first: 200, last: 299 } as const
const redirects: readonly number[] = [301, 302, 303, 307, 308]
const goneStatus = 410

type SigningKeys = { current: KeyObject; previous: { key: KeyObject; expiresAt: number } | undefined }

/** Returns the headers of a request without its signature. */
export function requestHeaders({ id }: Pick<Message, 'id'>, { batchSize }: WebhookDetails): Record<string, string> {
  const format = batchSize > 1 ? 'cloudevents-batch+json' : 'cloudevents+json'
  return {
    'content-type': `application/${format}; charset=utf-8`,
    'user-agent': `Millwright/${productVersion}`,
    'webhook-id': id,
  }
}

/** Opens the channel of a webhook. It has its own connections, so that a slow receiver delays no other webhook. */
export async function openWebhookChannel(
  context: Pick<Context, 'outbound' | 'safe' | 'tracer'>,
  scope: Scope,
  row: SubscriptionRow,
): Promise<Channel> {
  const keys = await openKeys(context, scope, row)
  const url = new URL(row.url)
  const pool = context.outbound.pool(url, {
    connections: limits.connections,
    certificateAuthority: row.certificateAuthority,
  })
  const path = url.pathname + url.search
  const details = row.details as WebhookDetails
  return {
    async send(message, signal) {
      const span = context.tracer?.start('webhook', { kind: 'producer', attributes: { 'http.request.method': 'POST' } })
      const timestamp = Math.floor(Date.now() / 1_000)
      const { id, body } = message
      const headers = {
        ...requestHeaders(message, details),
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatureOf(validKeys(keys), { id, timestamp, body }),
        ...(span === undefined ? {} : { traceparent: span.traceparent }),
      }
      const outcome = await new Request({ path, method: 'POST', headers, body }).send(pool, signal)
      const { status } = outcome.attempt
      span?.set({ 'http.response.status_code': status ?? undefined, 'millwright.events': message.events.length })
      span?.end(outcome.isDelivered ? {} : { error: status === null ? 'no response' : `status ${status}` })
      return outcome
    },
    close: () => pool.destroy(),
  }
}

async function openKeys({ safe }: Pick<Context, 'safe'>, scope: Scope, row: SubscriptionRow): Promise<SigningKeys> {
  const open = async (sealed: Buffer) => {
    const secret = await safe.open(scope, sealed, secretOwner(row.id))
    const key = signingKey(secret.toString())
    secret.fill(0)
    return key
  }
  const { sealedSecret, sealedPreviousSecret: former, previousSecretUntil: until } = row
  if (sealedSecret === null) throw new Error(`The webhook ${row.id} has no secret`)
  const previous =
    former === null || until === null ? undefined : { key: await open(former), expiresAt: Date.parse(until) }
  return { current: await open(sealedSecret), previous }
}

function validKeys({ current, previous }: SigningKeys): KeyObject[] {
  return previous !== undefined && Date.now() < previous.expiresAt ? [current, previous.key] : [current]
}

/**
 * `Request` is one attempt. The status of the response decides its outcome. It ends when the response has ended, or when
 * the limit of the body is reached in size or time. The time limit of the status includes the connection.
 */
class Request implements Dispatcher.DispatchHandler {
  readonly #options: Dispatcher.DispatchOptions
  readonly #outcome = Promise.withResolvers<Outcome>()
  readonly #startedAt = performance.now()
  readonly #time = new Date().toISOString()
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined
  #response: { status: number; text: string; headers: Record<string, string> } | undefined
  #body: Buffer[] = []
  #bodyBytes = 0
  #informational = 0
  #isEnded = false

  constructor(options: Dispatcher.DispatchOptions) {
    this.#options = options
  }

  async send(pool: Pool, signal: AbortSignal): Promise<Outcome> {
    const cancel = () => this.#end('The request was cancelled')
    if (signal.aborted) cancel()
    else {
      signal.addEventListener('abort', cancel)
      const seconds = subscriptionLimits.responseMs / 1_000
      this.#timer = setTimeout(
        () => this.#end(`The receiver did not respond within ${seconds} s`),
        subscriptionLimits.responseMs,
      )
      pool.dispatch(this.#options, this)
    }
    try {
      return await this.#outcome.promise
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isEnded) controller.abort(new Error('The request has ended'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
    text = '',
  ): void {
    if (this.#isEnded) return
    if (status < success.first) {
      this.#informational++
      if (this.#informational > limits.informational)
        this.#end('The receiver sent too many informational responses (1xx)')
      return
    }
    this.#response = { status, text: printable(text, limits.headerCharacters), headers: shownHeaders(headers) }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#end(), limits.bodyMs)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body.push(chunk)
    this.#bodyBytes += chunk.length
    if (this.#bodyBytes > limits.bodyBytes) this.#end()
  }

  onResponseEnd(): void {
    this.#controller = undefined
    this.#end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(connectionError(error, 'The receiver'))
  }

  /** Ends the attempt. The connection is closed unless the response is complete. */
  #end(failure?: string): void {
    if (this.#isEnded) return
    this.#isEnded = true
    clearTimeout(this.#timer)
    const response = this.#response
    const attempt: Attempt = {
      time: this.#time,
      durationMs: Math.round(performance.now() - this.#startedAt),
      status: response?.status ?? null,
      error: response === undefined ? (failure ?? 'The receiver sent no response') : errorOf(response),
      ...(response === undefined ? {} : { responseHeaders: response.headers, responseBody: this.#bodyText() }),
    }
    this.#outcome.resolve({
      isDelivered: attempt.error === null,
      isGone: attempt.status === goneStatus,
      attempt,
    })
    this.#body = []
    this.#controller?.abort(new Error('The request has ended'))
  }

  #bodyText(): string {
    if (this.#bodyBytes === 0) return ''
    return printable(Buffer.concat(this.#body).toString(), subscriptionLimits.responseCharacters)
  }
}

function errorOf({ status, text }: { status: number; text: string }): string | null {
  if (status >= success.first && status <= success.last) return null
  const answered = `${statusErrorStart}${status}${text === '' ? '' : ` ${text}`}`
  if (redirects.includes(status)) return `${answered}. Redirects are not followed. Change the URL of the webhook`
  return answered
}

function shownHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const shown = loggedHeaders.flatMap((name) => {
    const [value] = [headers[name]].flat()
    return value === undefined ? [] : [[name, printable(value, limits.headerCharacters)]]
  })
  return Object.fromEntries(shown)
}

/** Returns the start of a text, without control characters that a log cannot show. */
function printable(text: string, characters: number): string {
  return (
    text
      .slice(0, characters)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, '\ufffd')
      .toWellFormed()
  )
}
