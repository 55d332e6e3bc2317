import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createLog } from '@millwright/cloud/platform/log.ts'
import { testHub } from '@millwright/cloud/platform/testing/hub.ts'
import { startTracing } from '@millwright/cloud/platform/tracing.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { link as plant } from '@millwright/links/plant/link.ts'
import { startGateway } from './gateway.ts'
import { settingsFor, temporaryFolder, until } from './testing.ts'

type Span = { service: string; name: string; traceId: string; spanId: string; parentSpanId?: string; text: string }

test('one trace contains the request, the task, the gateway, the link and the uploads of a scan', async () => {
  const spans: Span[] = []
  const collector = createServer(async (request, response) => {
    const { resourceSpans } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = resource.attributes.find(({ key }: { key: string }) => key === 'service.name').value.stringValue
      for (const span of scopeSpans[0].spans) spans.push({ service, ...span, text: JSON.stringify(span) })
    }
    response.setHeader('content-type', 'application/json').end('{}')
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  const tracesUrl = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`
  const tracing = startTracing(
    {
      tracesBaseUrl: undefined,
      tracesUrl,
      tracesHeaders: [],
      tracesService: 'millwright',
      tracesSampler: 'parentbased_traceidratio',
      tracesRatio: 0,
    },
    createLog({ level: 'silent' }),
  )
  // Only the trace of the caller is sampled. The hub has its own database, because the processes of other tests would
  // otherwise run its tasks without traces.
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  {
    await using hub = await testHub({ arrangement: 'one process', own: true, tracing })
    const [cloud] = hub.clouds
    assert.ok(cloud)
    cloud.setBaseUrl(`http://127.0.0.1:${await cloud.listen({ host: '127.0.0.1', port: 0 })}`)
    const admin = await hub.as('administrator')
    const { data } = await admin.onboarding.createGateway({ body: { data: { name: 'Line 8' } } })
    const settings = settingsFor(temporaryFolder(), { tracesUrl })
    const config = await admin.onboarding.createGatewayConfig({ params: { id: data.id } })
    writeFileSync(settings.configFile, JSON.stringify(config))
    const gateway = await startGateway(settings, { renewEveryMs: 200 })
    const registry = `127.0.0.1:${gateway.registryPort}`
    const link = await startLink(plant, { registry, logLevel: 'silent', tracesUrl })
    try {
      const params = { gatewayId: gateway.gatewayId }
      const assetLinkId = plant.manifest.id
      await until(async () => {
        const { data: links } = await admin.discovery.listAssetLinks({ params })
        return links.some((one) => one.assetLinkId === assetLinkId && one.reachable)
      })
      const answer = await hub.request({
        method: 'POST',
        path: `/discovery/v1/gateways/${gateway.gatewayId}/discoveries`,
        headers: {
          authorization: `Bearer ${admin.token}`,
          'content-type': 'application/json',
          traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
        },
        body: JSON.stringify({ data: { assetLinkId, discoveryOptions: [{ key: 'size', value: '3' }] } }),
      })
      assert.ok(answer.status < 300, answer.text)
      const { jobId } = answer.body as { jobId: string }
      await until(async () => (await admin.discovery.getDiscovery({ params: { jobId } })).data.state === 'finished')
    } finally {
      await link.stop()
      await gateway.stop()
    }
  }
  collector.close()

  assert.deepEqual([...new Set(spans.map((span) => span.traceId))], [traceId])
  const find = (service: string, name: RegExp): Span => {
    const span = spans.find((one) => one.service === service && name.test(one.name))
    assert.ok(span, `${service} ${name}: ${spans.map((one) => `${one.service} ${one.name}`).join(', ')}`)
    return span
  }
  const request = find('millwright', /^POST \/discovery\/v1\/gateways\/:gatewayId/)
  const task = find('millwright', /^task discovery\.start$/)
  const job = find('millwright-gateway', /^job discovery$/)
  const scan = find(`millwright-link-${plant.manifest.id}`, /^DiscoverDevices$/)
  const upload = find('millwright', /^POST \/gatekeeper\/v1\/jobs\/:id\/found$/)
  const end = find('millwright', /^POST \/gatekeeper\/v1\/leases\/:id\/end$/)
  assert.equal(request.parentSpanId, '00f067aa0ba902b7')
  assert.equal(task.parentSpanId, request.spanId)
  assert.equal(job.parentSpanId, task.spanId)
  for (const span of [scan, upload, end]) assert.equal(span.parentSpanId, job.spanId)
  // The attributes contain no values of the scan and no addresses.
  for (const { text } of spans) assert.doesNotMatch(text, /Bearer|password|10\.\d+\.\d+\.\d+/)
})
