import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
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
