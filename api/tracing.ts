import { randomBytes } from 'node:crypto'

/**
 * This file creates spans and exports them with OTLP over HTTP (JSON encoding). The platform, the gateway and the links
 * use it. A span that has ended waits in a queue. The queue is exported at an interval, one request at a time. The size
 * of the queue is limited: if the collector is slow or not reachable, spans are dropped and counted. Exports never delay
 * the work that is traced.
 */

/** The value of an attribute. Attributes must not contain secrets, personal data or ids of assets. */
export type AttributeValue = string | number | boolean
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>

/** The kinds of spans, with their numbers in OTLP. */
const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const
export type SpanKind = keyof typeof kinds

export type SpanOptions = {
  kind?: SpanKind
  /** The `traceparent` of the span that caused this one. An invalid value starts a new trace. */
  parent?: string | undefined
  attributes?: Attributes
  /** How long ago the step began. */
  ageMs?: number
}

/** `Span` is one step of a trace. It is exported when it ends, if the trace is sampled. */
export type Span = {
  readonly traceId: string
  /** The value of the header `traceparent` for requests that belong to this span (W3C Trace Context). */
  readonly traceparent: string
  readonly isSampled: boolean
  rename(name: string): void
  set(attributes: Attributes): void
  /** Ends the span. `error` is a short description without values, such as the name of a status. */
  end(ending?: { error?: string | undefined }): void
}

export type TracerOptions = {
  /** The name of the program, such as `millwright-gateway`. */
  service: string
  version: string
  /** The fraction of new traces that are sampled. A trace of a caller keeps the decision of the caller. */
  ratio?: number
  /** Whether the decision of the caller applies. The default is true. */
  followsParent?: boolean
  /** Sends an export to the collector. Throws an error if the collector did not accept it. */
  send: (body: string, signal: AbortSignal) => Promise<void>
  /** Called when exports begin to fail, and with undefined when they work again. */
  onExportState?: (reason: string | undefined) => void
}

const limits = {
  /** The maximum number of spans that wait for the export. */
  queue: 2_048,
  /** The maximum number of spans in one request. */
  batch: 512,
  attributeCharacters: 1_024,
  exportMs: 10_000,
  /** How long `stop` waits for the last export. */
  stopMs: 2_000,
} as const

const intervalMs = 1_000

type EndedSpan = {
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  name: string
  kind: SpanKind
  startedAtMs: number
  endedAtMs: number
  attributes: Record<string, AttributeValue>
  error: string | undefined
}

type SpanContext = { traceId: string; spanId: string; isSampled: boolean }

/** Returns the trace and the span in a `traceparent`. Returns undefined if the text is invalid. */
export function parseTraceparent(text: unknown): SpanContext | undefined {
  const [, traceId, spanId, flags = '00'] =
    /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(text)) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** `Tracer` creates spans and exports them. */
export class Tracer {
  readonly #options: TracerOptions
  readonly #queue: EndedSpan[] = []
  #timer: NodeJS.Timeout | undefined
  #export: Promise<void> | undefined
  #stopped = new AbortController()
  #isFailing = false
  /** The spans that were accepted by the collector, and those that were lost. */
  readonly counts = { exported: 0, dropped: 0 }

  constructor(options: TracerOptions) {
    this.#options = options
  }

  start(name: string, { kind = 'internal', parent, attributes = {}, ageMs = 0 }: SpanOptions = {}): Span {
    const from = parseTraceparent(parent)
    const traceId = from?.traceId ?? randomBytes(16).toString('hex')
    const spanId = randomBytes(8).toString('hex')
    const isSampled = this.#isSampled(traceId, from)
    const startedAtMs = Date.now() - ageMs
    const startedAt = performance.now() - ageMs
    const own: Record<string, AttributeValue> = {}
    let title = name
    let hasEnded = false
    const set = (more: Attributes) => {
      if (!isSampled) return
      for (const [key, value] of Object.entries(more))
        if (value !== undefined)
          own[key] = typeof value === 'string' ? value.slice(0, limits.attributeCharacters) : value
    }
    set(attributes)
    return {
      traceId,
      traceparent: `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`,
      isSampled,
      rename: (next) => {
        title = next
      },
      set,
      end: ({ error } = {}) => {
        if (hasEnded || !isSampled) return
        hasEnded = true
        const endedAtMs = startedAtMs + (performance.now() - startedAt)
        const context = { traceId, spanId, parentSpanId: from?.spanId }
        this.#add({ ...context, name: title, kind, startedAtMs, endedAtMs, attributes: own, error })
      },
    }
  }

  /** Exports the spans that wait, and stops. Spans that the collector does not accept in time are lost. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    const late = setTimeout(() => this.#stopped.abort(new Error('The export was stopped')), limits.stopMs)
    try {
      await this.#export
      while (this.#queue.length > 0 && !this.#stopped.signal.aborted) await this.#exportOnce()
    } finally {
      clearTimeout(late)
      this.#stopped.abort()
    }
  }

  #isSampled(traceId: string, from: SpanContext | undefined): boolean {
    const { ratio = 1, followsParent = true } = this.#options
    if (from !== undefined && followsParent) return from.isSampled
    // All processes decide in the same way, because the decision depends only on the id of the trace.
    return Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32
  }

  #add(span: EndedSpan): void {
    if (this.#stopped.signal.aborted || this.#queue.length >= limits.queue) {
      this.counts.dropped += 1
      return
    }
    this.#queue.push(span)
    if (this.#queue.length >= limits.batch) this.#exportSoon(0)
    else this.#exportSoon(intervalMs)
  }

  #exportSoon(delayMs: number): void {
    if (this.#export !== undefined || (this.#timer !== undefined && delayMs > 0)) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#export = this.#exportOnce().finally(() => {
        this.#export = undefined
        if (this.#queue.length > 0 && !this.#stopped.signal.aborted) this.#exportSoon(intervalMs)
      })
    }, delayMs).unref()
  }

  async #exportOnce(): Promise<void> {
    const spans = this.#queue.splice(0, limits.batch)
    const timeout = new AbortController()
    const timer = setTimeout(
      () => timeout.abort(new Error(`The collector did not respond within ${limits.exportMs / 1_000} seconds`)),
      limits.exportMs,
    ).unref()
    const signal = AbortSignal.any([timeout.signal, this.#stopped.signal])
    try {
      await unlessAborted(this.#options.send(this.#encode(spans), signal), signal)
      this.counts.exported += spans.length
      this.#report(undefined)
    } catch (error) {
      this.counts.dropped += spans.length
      this.#report(error instanceof Error ? error.message : String(error))
    } finally {
      clearTimeout(timer)
    }
  }

  #report(reason: string | undefined): void {
    const isFailing = reason !== undefined
    if (isFailing === this.#isFailing) return
    this.#isFailing = isFailing
    this.#options.onExportState?.(reason)
  }

  #encode(spans: readonly EndedSpan[]): string {
    const { service, version } = this.#options
    const resource = attributeList({ 'service.name': service, 'service.version': version })
    return JSON.stringify({
      resourceSpans: [
        {
          resource: { attributes: resource },
          scopeSpans: [{ scope: { name: 'millwright', version }, spans: spans.map(encodeSpan) }],
        },
      ],
    })
  }
}

/** Rejects when the signal is aborted, even if the work does not end. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
    work.catch(() => {})
    aborted.promise.catch(() => {})
  }
}

function encodeSpan({ traceId, spanId, parentSpanId, name, kind, error, ...span }: EndedSpan) {
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(span.startedAtMs),
    endTimeUnixNano: nanoseconds(span.endedAtMs),
    attributes: attributeList(span.attributes),
    status: error === undefined ? {} : { code: 2, message: error.slice(0, limits.attributeCharacters) },
  }
}

/** Returns a time as text, because a JSON number cannot contain all digits of nanoseconds. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`
}

function attributeList(attributes: Record<string, AttributeValue>) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: encodeValue(value) }))
}

function encodeValue(value: AttributeValue) {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/**
 * Returns the URL to which spans are sent. The address of a collector, such as `http://127.0.0.1:4318`, gets the path of
 * the OTLP specification. Returns undefined if the text is not a URL with http or https, or contains a password.
 */
export function tracesUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:'
  if (!isHttp || url.username !== '' || url.password !== '') return undefined
  if (url.pathname === '/' && url.search === '') url.pathname = '/v1/traces'
  return url.href
}

/** Returns the function that sends spans to a collector. It follows no redirect, so it connects only to this address. */
export function sendTo(url: string): TracerOptions['send'] {
  return async (body, signal) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`The collector responded with status ${response.status}`)
  }
}
