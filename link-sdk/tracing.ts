import { type Metadata, ServerInterceptingCall, type ServerInterceptor, status } from '@grpc/grpc-js'
import { type Span, sendTo, Tracer } from '@millwright/api/tracing.ts'
import type { Log } from './log.ts'
import type { Manifest } from './manifest.ts'

type Options = { manifest: Manifest; url: string | undefined; log: Log }

/** Returns the tracer of a link. Returns undefined if no collector is set. */
export function openTracer({ manifest, url, log }: Options): Tracer | undefined {
  if (url === undefined) return undefined
  return new Tracer({
    service: `millwright-link-${manifest.id}`,
    version: manifest.version,
    // A link exports only calls that belong to a trace of the gateway.
    ratio: 0,
    send: sendTo(url),
    onExportState: (reason) =>
      reason === undefined
        ? log.warn('Traces are exported again.')
        : log.warn('Traces cannot be exported, and are dropped.', { reason }),
  })
}

/** Returns the interceptor that creates a span for each call that belongs to a trace of the gateway. */
export function tracingInterceptor(tracer: Tracer): ServerInterceptor {
  return ({ path }, call) => {
    let span: Span | undefined
    const end = (code: status) => span?.end(code === status.OK ? {} : { error: status[code] ?? String(code) })
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, forward) => {
            span = tracer.start(nameOf(path), { kind: 'server', parent: traceparentOf(metadata) })
            span.set({ 'rpc.system': 'grpc', 'rpc.method': nameOf(path) })
            forward(metadata)
          },
          onCancel: () => end(status.CANCELLED),
        }),
      sendStatus: (sent, next) => {
        end(sent.code ?? status.UNKNOWN)
        next(sent)
      },
    })
  }
}

function traceparentOf(metadata: Metadata): string | undefined {
  return metadata.get('traceparent')[0]?.toString()
}

/** Returns the name of the method without the prefix of the vendor. */
function nameOf(path: string): string {
  return path.split('/').at(-1) ?? path
}
