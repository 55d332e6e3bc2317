import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { createLog } from './log.ts'
import { testHub } from './testing/hub.ts'
import { startTracing, type TracingSettings } from './tracing.ts'

type Span = {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: { key: string; value: Record<string, unknown> }[]
}

const settings: TracingSettings = {
  tracesBaseUrl: undefined,
  tracesUrl: undefined,
  tracesHeaders: [],
  tracesService: 'millwright',
  tracesSampler: 'parentbased_always_on',
  tracesRatio: 1,
}
const silent = createLog({ level: 'silent' })

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('exports a request as a child of the span of its caller, without values', async () => {
  const spans: Span[] = []
  const headers: unknown[] = []
  const collector = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    headers.push([request.url, request.headers['x-key']])
    spans.push(...body.resourceSpans[0].scopeSpans[0].spans)
    response.setHeader('content-type', 'application/json').end('{}')
  })
  const tracesBaseUrl = await listening(collector)
  const tracing = startTracing({ ...settings, tracesBaseUrl, tracesHeaders: ['x-key=a%20b'] }, silent)
  assert.ok(tracing !== undefined)
  const parent = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' }
  {
    await using hub = await testHub({ tracing, arrangement: 'one process' })
    const admin = await hub.as('administrator')
    const answer = await hub.request({
      method: 'POST',
      path: '/inventory/v2/assets',
      headers: {
        authorization: `Bearer ${admin.token}`,
        'content-type': 'application/json',
        traceparent: `00-${parent.trace}-${parent.span}-01`,
      },
      body: JSON.stringify({ data: { name: 'private-name-4711' } }),
    })
    assert.ok(answer.status < 500, answer.text)
  }
  const request = spans.find(({ name }) => name.startsWith('POST /inventory/v2'))
  assert.ok(request !== undefined, spans.map(({ name }) => name).join(', '))
  assert.deepEqual([request.traceId, request.parentSpanId], [parent.trace, parent.span])
  assert.ok(request.attributes.some(({ key }) => key === 'millwright.database.statements'))
  assert.doesNotMatch(JSON.stringify(spans), /private-name-4711/)
  assert.deepEqual(headers[0], ['/v1/traces', 'a b'])
  collector.close()
})

test(
  'answers requests without a delay while the collector accepts connections and does not respond',
  onlyInLongRuns,
  async () => {
    const collector = createServer(() => {})
    const tracing = startTracing({ ...settings, tracesBaseUrl: await listening(collector) }, silent)
    {
      await using hub = await testHub({ tracing, arrangement: 'one process' })
      for (let index = 0; index < 600; index++) {
        const { status } = await hub.request({ method: 'GET', path: '/healthz' })
        assert.equal(status, 200)
      }
      await once(collector, 'connection')
      const startedAt = performance.now()
      const { status } = await hub.request({ method: 'GET', path: '/version' })
      assert.equal(status, 200)
      assert.ok(performance.now() - startedAt < 1_000)
    }
    collector.closeAllConnections()
    collector.close()
  },
)

test('connects only to the address of the collector, and follows no redirect', async () => {
  let redirected = 0
  const other = createServer((_, response) => {
    redirected += 1
    response.end()
  })
  const target = await listening(other)
  const collector = createServer((_, response) => response.writeHead(307, { location: target }).end())
  const tracing = startTracing({ ...settings, tracesUrl: `${await listening(collector)}/v1/traces` }, silent)
  tracing?.tracer.start('a').end()
  await tracing?.stop()
  assert.deepEqual([redirected, tracing?.tracer.counts], [0, { exported: 0, dropped: 1 }])
  collector.close()
  other.close()
})

test('exports no traces without a collector, and refuses headers that are not name=value', () => {
  assert.equal(startTracing(settings, silent), undefined)
  assert.throws(
    () => startTracing({ ...settings, tracesBaseUrl: 'http://127.0.0.1:1', tracesHeaders: ['secret'] }, silent),
    /OTEL_EXPORTER_OTLP_HEADERS must be a list/,
  )
})
