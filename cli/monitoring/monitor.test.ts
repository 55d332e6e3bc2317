import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { enrolledGateway, linkReport } from '@millwright/cloud/platform/testing/gateway.ts'
import type { TestCaller } from '@millwright/cloud/platform/testing/hub.ts'
import { type RunOptions, TestPlatform } from '../testing.ts'
import { percentText } from './monitoring-queries.ts'

let platform: TestPlatform
let admin: TestCaller

before(async () => {
  platform = await TestPlatform.open()
  admin = await platform.as('administrator')
  const gateway = await enrolledGateway(platform.hub, admin)
  await gateway.gatekeeper.reportLinks({
    body: { data: { gatewayVersion: '1.0.0', links: [linkReport({ appInstanceId: 'millwright.links.snmp' })] } },
  })
})

after(() => platform[Symbol.asyncDispose]())

const monitor = (args: string[], options: RunOptions = {}) =>
  platform.run(['monitor', ...args], { token: admin.token, ...options })

async function succeed(args: string[], options: RunOptions = {}): Promise<string> {
  const { code, out, err } = await monitor(args, options)
  assert.equal(code, 0, `${args.join(' ')}: ${out}${err}`)
  return out
}

async function fail(args: string[], code: number): Promise<string> {
  const result = await monitor(args)
  assert.equal(result.code, code, `${args.join(' ')}: ${result.out}${result.err}`)
  return result.err
}

const shown = async (name: string) => JSON.parse(await succeed(['show', name, '--json'])).data

describe('monitor', () => {
  test('create needs devices, and the help shows how to name them', async () => {
    assert.match(await fail(['create', 'Line 1'], 2), /devices are missing.*--filter/s)
    assert.match(
      await fail(['create', 'Line 1', '--filter', 'id ne null', '--asset', 'x'], 2),
      /either --filter or --asset/,
    )
    assert.match(await fail(['create', 'Line 1', '--filter', 'id ne null', '--timezone', 'UTC'], 2), /needs --schedule/)
    assert.match(
      await fail(['create', 'Line 1', '--filter', 'id ne null', '--link', 'opcua'], 2),
      /No gateway has the link/,
    )
    assert.match(await fail(['create', 'Line 1', '--filter', 'name eq', '--no-follow'], 2), /invalid_filter/)
    const { out } = await monitor(['--help'])
    assert.match(out, /monitor create 'Line 1' --filter/)
    assert.match(out, /If its gateway is offline, its state is unknown/)
  })

  test('create with a schedule resolves links and monitoring sets by name, and list and show print it', async () => {
    const { data: set } = await admin.credentials.createInstancesTemplate({ body: { data: { name: 'plant' } } })
    const options = ['--link', 'snmp', '--template', 'plant', '--key', 'contact', '--key', 'interface_states']
    const schedule = ['--schedule', '*/5 * * * *', '--timezone', 'Europe/Berlin']
    const { code, out, err } = await monitor(['create', 'Line 1', '--filter', 'id ne null', ...options, ...schedule])
    assert.equal(code, 0, err)
    assert.match(out, /^Monitoring task Line 1 created: [0-9a-f-]{36}\n$/)
    assert.equal(err, 'Results: millwright monitor results "Line 1"\n')
    const { assetLinkIds, instancesTemplateId, keys, targets, schedule: stored } = await shown('Line 1')
    assert.deepEqual(assetLinkIds, ['millwright.links.snmp'])
    assert.equal(instancesTemplateId, set.id)
    assert.deepEqual(keys, ['contact', 'interface_states'])
    assert.deepEqual(targets, { filter: 'id ne null' })
    assert.deepEqual([stored.cron, stored.timezone], ['*/5 * * * *', 'Europe/Berlin'])
    assert.match(await succeed(['list']), /^Line 1 +active +0 +0 +0 +0 .*\*\/5 \* \* \* \* +20\S+Z +administrator-/m)
  })

  test('update changes some fields, and none removes others', async () => {
    assert.match(await fail(['update', 'Line 1'], 2), /at least one option/)
    assert.match(
      await succeed(['update', 'Line 1', '--name', 'Line 2', '--link', 'none', '--key', 'none', '--template', 'none']),
      /^Line 1 changed\. Its owner is administrator-/,
    )
    const changed = await shown('Line 2')
    assert.deepEqual([changed.assetLinkIds, changed.keys, changed.instancesTemplateId], [[], [], undefined])
    await succeed(['update', 'Line 2', '--schedule', 'none'])
    assert.equal((await shown('Line 2')).schedule, undefined)
    assert.match(await succeed(['list']), /^Line 2 +manual only /m)
    await succeed(['update', 'Line 2', '--name', 'Line 1', '--schedule', '0 * * * *'])
  })

  test('pause and resume stop and continue the schedule', async () => {
    assert.equal(await succeed(['pause', 'Line 1']), 'Line 1 paused\n')
    assert.match(await succeed(['list', '--scheduled']), /^Line 1 +paused /m)
    assert.equal(await succeed(['resume', 'Line 1']), 'Line 1 resumed\n')
    assert.equal((await shown('Line 1')).schedule.paused, false)
  })

  test('results, runs and availability say that there are none yet', async () => {
    assert.match((await monitor(['results', 'Line 1'])).err, /No results yet: millwright monitor run/)
    assert.match((await monitor(['results', 'Line 1', '--state', 'unreachable'])).err, /No device matches/)
    assert.match((await monitor(['runs', 'Line 1'])).err, /no runs yet/)
    await platform.run(['assets', 'create', '--name', 'Drive 12', '--mac', '00-1B-1B-00-00-12'], { token: admin.token })
    assert.match(
      await succeed(['availability', 'Drive 12', '--days', '7']),
      /^unknown.*\nNo availability in the last 7 days/,
    )
    assert.equal(JSON.parse(await succeed(['availability', 'Drive 12', '--json'])).data.state, 'unknown')
  })

  test('create without a schedule runs once, and prints a device that no link has found as unknown', async () => {
    const line = 'Drives: 0 unreachable, 0 reachable, 1 unknown, 0 changed\n'
    assert.equal(await succeed(['create', 'Drives', '--asset', 'Drive 12']), line)
    assert.match(await succeed(['results', 'Drives']), /^Drive 12 +unknown +20\S+Z .*asset link/m)
    assert.match(await succeed(['results', 'Drives', '--state', 'unknown']), /^Drive 12 /m)
    assert.equal(await succeed(['run', 'Drives']), line)
    assert.match(await succeed(['runs', 'Drives']), /^2 +person +finished +1 +0 +0 +1 +0 /m)
    assert.match(await succeed(['run', 'Drives', '--no-follow']), /^Run [0-9a-f-]{36} accepted\.\n$/)
    const deadline = performance.now() + 60_000
    while ((await shown('Drives')).latestRun.endedTimestamp === undefined) {
      assert.ok(performance.now() < deadline, 'the run does not end')
      await delay(20)
    }
    assert.match(await fail(['cancel', 'Drives'], 5), /conflict/)
    await succeed(['delete', 'Drives', '--yes'])
  })

  test('delete needs a confirmation, and an unknown name exits with 4', async () => {
    assert.match(await fail(['delete', 'Line 1'], 2), /--yes/)
    assert.equal(await succeed(['delete', 'Line 1', '--yes']), 'Line 1 deleted\n')
    assert.match(await fail(['show', 'Line 1'], 4), /Monitoring task "Line 1" not found.*millwright monitor list/s)
    assert.match((await monitor(['list'])).err, /No monitoring tasks\. To add one: millwright monitor create/)
  })

  test('a percentage is rounded down, so that only full availability is 100 %', () => {
    assert.deepEqual([percentText(99.999), percentText(100), percentText(0)], ['99.99 %', '100 %', '0 %'])
  })
})
