import { setTimeout as delay } from 'node:timers/promises'
import type { CompletedRequest } from './http/completed-request.ts'
import type { IncomingRequest } from './http/incoming-request.ts'

/** The trace of one request. A forwarded request contains `headers`, so that the other process continues the trace. */
export type RequestTrace = { headers: Record<string, string>; end(answered: CompletedRequest): void }

export type Tracing = { begin(incoming: IncomingRequest): RequestTrace; stop(): Promise<void> }

const stopMs = 2_000

/**
 * Starts OpenTelemetry traces if the standard variables configure an exporter (OTEL_EXPORTER_OTLP_ENDPOINT and related
 * ones). The libraries are loaded only in this case, because they cost start time and memory.
 */
export async function startTracing(environment: Record<string, string | undefined>): Promise<Tracing | undefined> {
  const endpoint = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? environment.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined || endpoint === '') return undefined
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': environment.OTEL_SERVICE_NAME ?? 'millwright' }),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter())],
  })
  const tracer = provider.getTracer('millwright')
  return {
    begin(incoming) {
      const parent = parentOf(incoming)
      const context =
        parent === undefined
          ? api.ROOT_CONTEXT
          : api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parent, isRemote: true })
      const span = tracer.startSpan(incoming.method, { kind: api.SpanKind.SERVER }, context)
      const { traceId, spanId, traceFlags } = span.spanContext()
      return {
        headers: { traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` },
        end({ method, route, status, requestId }) {
          span.updateName(`${method} ${route}`)
          span.setAttributes({
            'http.request.method': method,
            'http.route': route,
            'http.response.status_code': status,
            'millwright.request_id': requestId,
          })
          if (status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    /**
     * Stops the export. Spans that the collector does not accept in time are lost, so that a stop neither fails nor
     * blocks.
     */
    stop: () => Promise.race([provider.shutdown().catch(() => {}), delay(stopMs, undefined, { ref: false })]),
  }
}

/** Returns the span of the client, which becomes the parent of the request's span (W3C Trace Context). */
function parentOf({ headers }: IncomingRequest): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(headers.traceparent))
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  return { traceId: match[1], spanId: match[2], traceFlags: Number.parseInt(match[3] ?? '0', 16) }
}
