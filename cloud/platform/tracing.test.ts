import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { startTracing } from './tracing.ts'

type Span = {
  name: string
  traceId: string
  parentSpanId?: string
  attributes: { key: string; value: Record<string, unknown> }[]
}

test('exports requests as child spans of the caller when an exporter is configured', async () => {
  const { promise: received, resolve } = Promise.withResolvers<Span[]>()
  const collector = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    response.setHeader('content-type', 'application/json').end('{}')
    resolve(body.resourceSpans[0].scopeSpans[0].spans)
  })
  await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done))
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = endpoint

  const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
  assert.ok(tracing !== undefined)
  const parent = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' }
  const incoming = {
    id: 'request-1',
    method: 'GET',
    url: '/things/1',
    address: '127.0.0.1',
    headers: { traceparent: `00-${parent.trace}-${parent.span}-01` },
  }
  const trace = tracing.begin(incoming)
  assert.match(trace.headers.traceparent ?? '', new RegExp(`^00-${parent.trace}-[0-9a-f]{16}-01$`))
  trace.end({ requestId: 'request-1', method: 'GET', route: '/things/:id', status: 200, ms: 1, caller: undefined })
  await tracing.stop()

  const [span] = await received
  assert.deepEqual([span?.name, span?.traceId, span?.parentSpanId], ['GET /things/:id', parent.trace, parent.span])
  assert.ok(
    span?.attributes.some(({ key, value }) => key === 'millwright.request_id' && value.stringValue === 'request-1'),
  )
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT
  await new Promise((done) => collector.close(done))
})

test('does not trace requests when no exporter is configured', async () => {
  assert.equal(await startTracing({}), undefined)
})

test('stops tracing in time and without an error when the collector is unreachable', async () => {
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:1'
  const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })
  const trace = tracing?.begin({ id: 'request-2', method: 'GET', url: '/x', address: '127.0.0.1', headers: {} })
  trace?.end({ requestId: 'request-2', method: 'GET', route: '/', status: 200, ms: 1, caller: undefined })
  await tracing?.stop()
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT
})
