import { Tracer, tracesUrl } from '@millwright/api/tracing.ts'
import type { Log } from './log.ts'
import { Outbound } from './outbound.ts'
import { StartError } from './start-error.ts'
import { productVersion } from './version.ts'

/** The samplers of the OpenTelemetry specification that the platform has. */
export const samplers = [
  'parentbased_always_on',
  'parentbased_traceidratio',
  'always_on',
  'traceidratio',
  'always_off',
] as const

export type TracingSettings = {
  /** The address of the collector. Spans are sent to the path /v1/traces below it. */
  tracesBaseUrl: string | undefined
  /** The URL to which spans are sent. It has priority over the address of the collector. */
  tracesUrl: string | undefined
  /** Headers for the collector: name=value, separated by commas. */
  tracesHeaders: readonly string[]
  tracesService: string
  tracesSampler: (typeof samplers)[number]
  tracesRatio: number
}

/** `Tracing` exports the traces of the platform. */
export type Tracing = { tracer: Tracer; stop(): Promise<void> }

/**
 * Starts the export of traces if a collector is configured. The settings of the operator permit the connection to this
 * collector, and to no other address. It therefore needs no entry in MILLWRIGHT_OUTBOUND_ALLOW.
 */
export function startTracing(settings: TracingSettings, log: Log): Tracing | undefined {
  const url = collectorUrl(settings)
  if (url === undefined) return undefined
  const headers = { 'content-type': 'application/json', ...collectorHeaders(settings.tracesHeaders) }
  const outbound = new Outbound({ allow: [hostAndPort(url)] })
  const tracer = new Tracer({
    service: settings.tracesService,
    version: productVersion,
    ratio: ratioOf(settings),
    followsParent: settings.tracesSampler.startsWith('parentbased_'),
    async send(body, signal) {
      const { ok, status } = await outbound.fetch(url, { method: 'POST', headers, body, signal })
      if (!ok) throw new Error(`The collector responded with status ${status}`)
    },
    onExportState: (reason) =>
      reason === undefined
        ? log.warn('Traces are exported again')
        : log.warn({ reason, collector: new URL(url).origin }, 'Traces cannot be exported, and are dropped'),
  })
  return {
    tracer,
    async stop() {
      await tracer.stop()
      await outbound.close()
    },
  }
}

function collectorUrl({ tracesBaseUrl, tracesUrl: own }: TracingSettings): string | undefined {
  if (own !== undefined) return own
  if (tracesBaseUrl === undefined) return undefined
  return tracesUrl(`${tracesBaseUrl.replace(/\/+$/, '')}/v1/traces`)
}

function ratioOf({ tracesSampler, tracesRatio }: TracingSettings): number {
  if (tracesSampler === 'always_off') return 0
  return tracesSampler.endsWith('traceidratio') ? tracesRatio : 1
}

function collectorHeaders(entries: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    entries.map((entry) => {
      const [, name, value] = /^([\w.-]+)=(.*)$/.exec(entry) ?? []
      if (name === undefined || value === undefined)
        throw new StartError('OTEL_EXPORTER_OTLP_HEADERS must be a list of name=value, separated by commas.')
      return [name.toLowerCase(), decoded(value)]
    }),
  )
}

/** Returns a value without its percent-encoding, as the specification of the variable requires. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

function hostAndPort(url: string): string {
  const { hostname, port, protocol } = new URL(url)
  return `${hostname}:${port === '' ? { 'http:': 80, 'https:': 443 }[protocol] : port}`
}
