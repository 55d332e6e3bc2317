import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { discovery } from '@millwright/api/discovery.ts'
import { newId } from '../../platform/database/id.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

let hub: TestHub
let operator: TestCaller

before(async () => {
  hub = await testHub()
  operator = await hub.as('administrator')
})
after(() => hub[Symbol.asyncDispose]())

test('a monitoring with a schedule is created, read, changed and deleted', async () => {
  const created = await operator.monitoring.createMonitoring({
    body: {
      data: { name: 'Pumps', targets: { filter: "name eq 'pump'" }, schedule: { cron: '*/5 * * * *' } },
    },
  })
  const { id, jobId } = created.data
  assert.equal(id, jobId)
  const read = (await operator.monitoring.readMonitoring({ params: { id } })).data
  assert.equal(read.schedule?.cron, '*/5 * * * *')
  assert.equal(read.schedule?.nextRuns.length, 5)
  const changed = await operator.monitoring.updateMonitoring({
    params: { id },
    body: { data: { name: 'All pumps', paused: true, keys: ['uptime'] } },
  })
  assert.deepEqual(
    [changed.data.name, changed.data.schedule?.paused, changed.data.keys],
    ['All pumps', true, ['uptime']],
  )
  assert.equal((await operator.monitoring.listMonitorings({ query: {} })).data.length, 1)
  await operator.monitoring.deleteMonitoring({ params: { id } })
  assert.equal((await operator.monitoring.listMonitorings({ query: {} })).data.length, 0)
})

test('a change needs the current ETag, a repeated request creates one monitoring, and the audit trail names the change', async () => {
  const body = { data: { name: 'Fans', targets: { filter: "name eq 'fan'" }, schedule: { cron: '0 * * * *' } } }
  const headers = { 'idempotency-key': 'create fans' }
  const first = await operator.monitoring.createMonitoring({ body, headers })
  const second = await operator.monitoring.createMonitoring({ body, headers })
  const { id } = first.data
  assert.equal(second.data.id, id)
  const change = (etag: string) =>
    operator.monitoring.updateMonitoring({
      params: { id },
      headers: { 'if-match': etag },
      body: { data: { name: 'All fans' } },
    })
  await change('"1"')
  await assert.rejects(change('"1"'), ({ code }) => code === 'precondition_failed')
  await assert.rejects(
    operator.monitoring.updateMonitoring({ params: { id }, body: { data: { schedule: { cron: 'never' } } } }),
    ({ code }) => code === 'invalid_body',
  )
  const { data: entries } = await operator.audit.listEntries({ query: { action: 'monitoring.updateMonitoring' } })
  assert.ok(entries.some(({ target }) => target === `monitoring/${id}`))
  await operator.monitoring.deleteMonitoring({ params: { id } })
})

test('a discovery of the job type MONITORING is refused with the operation to use', async () => {
  const { status, body } = await operator.exchange(discovery, 'createDiscovery', {
    params: { gatewayId: newId() },
    body: { data: { assetLinkId: 'any', jobType: 'MONITORING' } },
  })
  assert.equal(status, 400)
  assert.match(JSON.stringify(body), /POST \/monitoring\/v1\/monitorings/)
})
