import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { ManagedLink } from '@millwright/api/gatekeeper.ts'
import { type RunningGateway, startGateway } from '../gateway.ts'
import { createLog } from '../log.ts'
import { settingsFor, TestCloud, temporaryFolder, until } from '../testing.ts'

describe('a gateway with a built-in link', () => {
  const home = temporaryFolder()
  const file = join(temporaryFolder(), 'waiting.mjs')
  let cloud: TestCloud
  let gateway: RunningGateway

  before(async () => {
    writeFileSync(
      file,
      `console.log('ready'); process.once('disconnect', () => process.exit(0)); process.channel.ref()`,
    )
    cloud = await TestCloud.start()
    cloud.configure(home)
    const builtInLinks = [{ name: 'waiting', appInstanceId: 'test.links.waiting', file }]
    gateway = await startGateway(settingsFor(home), { builtInLinks })
    await gateway.startLinks()
  })
  after(async () => {
    await gateway.stop()
    await cloud.stop()
  })

  const ended = (jobId: string) =>
    until(
      () => cloud.calls.find(({ operation, body }) => operation === 'endJob' && body.data.jobId === jobId)?.body.data,
    )
  const reported = (): ManagedLink | undefined =>
    cloud.calls.findLast(({ operation }) => operation === 'reportLinks')?.body.data.managedLinks?.[0]

  test('reports links without the built-in links to an older platform that refuses them', async () => {
    await using own = await TestCloud.start()
    const isOf = ({ operation, body }: { operation: string; body: { data: object } }) =>
      operation === 'reportLinks' && 'managedLinks' in body.data
    own.answering = (call) =>
      isOf(call)
        ? { status: 400, body: { code: 'invalid_body', detail: '/data must not have the property' } }
        : undefined
    const olderHome = temporaryFolder()
    own.configure(olderHome)
    const lines: string[] = []
    const log = createLog({ level: 'warn', to: { write: (line: string) => void lines.push(line) } })
    const builtInLinks = [{ name: 'waiting', appInstanceId: 'test.links.waiting', file }]
    const other = await startGateway(settingsFor(olderHome), { builtInLinks, log })
    const reports = await until(() => {
      const all = own.callsOf('reportLinks')
      return all.some((call) => !isOf(call)) && all
    })
    await until(() => lines.some((line) => line.includes('it has an older version')))
    await other.stop()
    assert.ok(reports.some(isOf))
  })

  test('runs and stops the link as a job of the platform requests, and reports its state and log', async () => {
    await until(() => reported()?.state === 'stopped')
    assert.equal((await ended(cloud.offer('link-inventory', { link: 'waiting', enabled: true }))).state, 'FINISHED')
    assert.deepEqual(JSON.parse(readFileSync(join(home, 'links.json'), 'utf8')), { links: { waiting: true } })
    await until(() => reported()?.state === 'starting')
    const logFile = join(home, 'links', 'waiting.log')
    await until(() => existsSync(logFile) && readFileSync(logFile, 'utf8') === 'ready\n')
    assert.equal((await ended(cloud.offer('link-inventory', { link: 'waiting', enabled: false }))).state, 'FINISHED')
    const { state, enabled, log } = await until(() => reported()?.state === 'stopped' && reported())
    assert.deepEqual([state, enabled, log], ['stopped', false, ['ready']])
    assert.deepEqual(
      gateway.status().managedLinks.map(({ name }) => name),
      ['waiting'],
    )
  })

  test('fails a job for an unknown link, and a job without a link', async () => {
    const unknown = await ended(cloud.offer('link-inventory', { link: 'oven', enabled: true }))
    assert.deepEqual(
      [unknown.state, unknown.message],
      ['FAILED', '"oven" is not a built-in link. Built-in links: waiting.'],
    )
    assert.equal((await ended(cloud.offer('link-inventory', {}))).state, 'FAILED')
  })
})
