import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseTraceparent, Tracer, tracesUrl } from './tracing.ts'

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

type ExportedSpan = { name: string; traceId: string; parentSpanId?: string; attributes: unknown[]; status: object }

function collecting(options: { ratio?: number; followsParent?: boolean } = {}) {
  const spans: ExportedSpan[] = []
  const send = async (body: string) => {
    spans.push(...JSON.parse(body).resourceSpans[0].scopeSpans[0].spans)
  }
  return { spans, tracer: new Tracer({ service: 'test', version: '1', send, ...options }) }
}

describe('traces', () => {
  test('exports a span as a child of its parent, with its attributes', async () => {
    const { spans, tracer } = collecting()
    const span = tracer.start('GET', { kind: 'server', parent, attributes: { route: '/things', missing: undefined } })
    assert.match(span.traceparent, /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/)
    span.rename('GET /things')
    span.set({ count: 3, ratio: 0.5, ok: true, long: 'x'.repeat(5_000) })
    span.end({ error: 'status 500' })
    span.end()
    await tracer.stop()
    assert.equal(spans.length, 1)
    const [{ name, traceId, parentSpanId, attributes, status } = {} as ExportedSpan] = spans
    assert.deepEqual(
      [name, traceId, parentSpanId],
      ['GET /things', '0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'],
    )
    assert.deepEqual(status, { code: 2, message: 'status 500' })
    assert.deepEqual(attributes, [
      { key: 'route', value: { stringValue: '/things' } },
      { key: 'count', value: { intValue: '3' } },
      { key: 'ratio', value: { doubleValue: 0.5 } },
      { key: 'ok', value: { boolValue: true } },
      { key: 'long', value: { stringValue: 'x'.repeat(1_024) } },
    ])
  })

  test('starts a new trace for a traceparent that is not valid', () => {
    const { tracer } = collecting()
    const zeros = `00-${'0'.repeat(32)}-b7ad6b7169203331-01`
    for (const text of [undefined, '', 'x', zeros, `${parent}0`, parent.toUpperCase(), parent.replace('00-', '01-')])
      assert.equal(parseTraceparent(text), undefined)
    assert.notEqual(tracer.start('a', { parent: zeros }).traceId, '0'.repeat(32))
  })

  test('samples by the ratio, and follows the decision of the caller only if configured', async () => {
    const { spans, tracer } = collecting({ ratio: 0 })
    const own = tracer.start('own')
    own.end()
    assert.match(own.traceparent, /-00$/)
    tracer.start('sampled', { parent }).end()
    tracer.start('not sampled', { parent: parent.replace(/01$/, '00') }).end()
    await tracer.stop()
    assert.deepEqual(
      spans.map(({ name }) => name),
      ['sampled'],
    )
    const strict = collecting({ ratio: 0, followsParent: false })
    assert.equal(strict.tracer.start('sampled', { parent }).isSampled, false)
    const half = collecting({ ratio: 0.5 })
    const sampled = Array.from({ length: 2_000 }, () => half.tracer.start('a')).filter((span) => span.isSampled).length
    assert.ok(sampled > 800 && sampled < 1_200, String(sampled))
  })

  test('drops spans and stops in time while the collector does not respond', async () => {
    const reasons: (string | undefined)[] = []
    const tracer = new Tracer({
      service: 'test',
      version: '1',
      send: () => new Promise(() => {}),
      onExportState: (reason) => reasons.push(reason),
    })
    for (let index = 0; index < 10_000; index++) tracer.start('a').end()
    assert.ok(tracer.counts.dropped >= 10_000 - 2_048)
    const startedAt = performance.now()
    await tracer.stop()
    assert.ok(performance.now() - startedAt < 10_000)
    assert.deepEqual(reasons, ['The export was stopped'])
    assert.equal(tracer.counts.exported, 0)
  })

  test('reports once that exports fail, and that they work again', async () => {
    const reasons: (string | undefined)[] = []
    let isReachable = false
    const send = async () => {
      if (!isReachable) throw new Error('refused')
    }
    const tracer = new Tracer({ service: 'test', version: '1', send, onExportState: (reason) => reasons.push(reason) })
    for (let index = 0; index < 512; index++) tracer.start('a').end()
    while (tracer.counts.dropped === 0) await new Promise((done) => setTimeout(done, 5))
    isReachable = true
    tracer.start('a').end()
    await tracer.stop()
    assert.deepEqual(reasons, ['refused', undefined])
    assert.deepEqual(tracer.counts, { exported: 1, dropped: 512 })
  })

  test('adds the path of the specification to the address of a collector, and refuses other URLs', () => {
    assert.equal(tracesUrl('http://127.0.0.1:4318'), 'http://127.0.0.1:4318/v1/traces')
    assert.equal(tracesUrl('https://collector.example/otlp/v1/traces'), 'https://collector.example/otlp/v1/traces')
    for (const text of ['collector', 'ftp://collector', 'http://user:word@collector'])
      assert.equal(tracesUrl(text), undefined)
  })
})
