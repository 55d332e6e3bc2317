import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { run } from '../program/program.ts'
import { type RunOptions, TestPlatform, testTerminal } from '../testing.ts'

let platform: TestPlatform
let token: string
let receiver: Server
let url: string
/** The status with which the receiver responds. */
let status = 200
const received: IncomingHttpHeaders[] = []

before(async () => {
  receiver = createServer((request, response) => {
    request.resume().on('end', () => {
      received.push(request.headers)
      response.writeHead(status).end('the response')
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`
  url = `http://${host}/events`
  platform = await TestPlatform.open({ outboundAllow: [host] })
  token = (await platform.as('administrator')).token
})

after(async () => {
  await platform[Symbol.asyncDispose]()
  receiver.close()
  receiver.closeAllConnections()
})

const webhooks = (args: string[], options: RunOptions = {}) =>
  platform.run(['webhooks', ...args], { token, ...options })

async function succeed(args: string[], options: RunOptions = {}): Promise<string> {
  const { code, out, err } = await webhooks(args, options)
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

async function fail(args: string[], code: number): Promise<string> {
  const result = await webhooks(args)
  assert.equal(result.code, code, `${args.join(' ')}: ${result.out}${result.err}`)
  return result.err
}

function environment(): Record<string, string> {
  return { ...platform.environment, MILLWRIGHT_URL: platform.url, MILLWRIGHT_TOKEN: token }
}

async function untilTrue(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, 'the condition is not true in time')
    await delay(20)
  }
}

describe('webhooks', () => {
  test('create prints the secret once, and list and show print the state without it', async () => {
    const { code, out, err } = await webhooks(['create', url, '--type', 'inventory.asset', '--name', 'cmms'])
    assert.equal(code, 0, err)
    assert.match(out, /^secret +whsec_[A-Za-z0-9+/]{43}=$/m)
    assert.match(err, /Copy the secret to the receiver now.*\nTest it: millwright webhooks test "cmms"\n$/)
    assert.match(
      await succeed(['list']),
      /^cmms +active +\d+ +0 +0 +inventory\.asset +http:\S+\/events +administrator-/m,
    )
    const shown = await succeed(['show', 'cmms'])
    assert.match(shown, /^types +inventory\.asset$/m)
    assert.doesNotMatch(shown, /whsec_/)
  })

  test('create reads the access group by name and the authority from a file, and refuses other hosts and missing types', async () => {
    await platform.run(['access', 'groups', 'create', 'line-1'], { token })
    const filter = "functional_object_type eq 'Device'"
    const options = ['--group', 'line-1', '--filter', filter, '--batch', '20', '--paused', '--name', 'narrow']
    await succeed(['create', url, '--type', 'inventory.asset', '--type', 'discovery', ...options])
    const shown = JSON.parse(await succeed(['show', 'narrow', '--json'])).data
    assert.deepEqual(
      [shown.types, shown.filter, shown.batchSize, shown.state],
      [['inventory.asset', 'discovery'], filter, 20, 'paused'],
    )
    assert.match(shown.accessGroup, /^[0-9a-f-]{36}$/)
    assert.match(await fail(['create', url], 2), /event types are missing.*--type io\.millwright\./s)
    const refused = await fail(['create', 'https://cmms.example.com/', '--type', 'inventory'], 2)
    assert.match(refused, /MILLWRIGHT_OUTBOUND_ALLOW.*target_not_allowed.*Next: plant IT adds the host/s)
    assert.doesNotMatch(refused, /remote target/)
    assert.match((await webhooks(['create', '--help'])).out, /^ {2}millwright webhooks create https:\/\/cmms/m)
    assert.match(await fail(['create', url, '--type', 'inventory', '--filter', 'name eq'], 2), /invalid_filter/)
    const path = join(platform.folder, 'authority.pem')
    assert.match(await fail(['create', url, '--type', 'inventory', '--authority', path], 2), /cannot be read/)
    writeFileSync(path, 'no certificate')
    assert.match(await fail(['create', url, '--type', 'x', '--authority', path], 2), /invalid_certificate/)
    await succeed(['delete', 'narrow', '--yes'])
  })

  test('update changes some fields and removes others with none', async () => {
    assert.match(await fail(['update', 'cmms'], 2), /at least one option/)
    const filter = "startswith(name, 'Pump')"
    assert.match(
      await succeed(['update', 'cmms', '--filter', filter, '--batch', '2', '--to', `${url}/2`]),
      /^cmms changed\. Its owner is administrator-/,
    )
    const changed = JSON.parse(await succeed(['show', 'cmms', '--json'])).data
    assert.deepEqual([changed.filter, changed.batchSize, changed.url], [filter, 2, `${url}/2`])
    await succeed(['update', 'cmms', '--filter', 'none', '--batch', '1', '--to', url])
    assert.equal(JSON.parse(await succeed(['show', 'cmms', '--json'])).data.filter, null)
  })

  test('test sends an event at once, and fails with the reason when the receiver refuses it', async () => {
    const count = received.length
    assert.match(await succeed(['test', 'cmms']), /^The test event was accepted with status 200 in \d+ ms\n$/)
    assert.equal(received.length, count + 1)
    status = 503
    const err = await fail(['test', 'cmms'], 1)
    status = 200
    assert.match(err, /not accepted: .*503.*\nNext: millwright webhooks delivery "cmms" [0-9a-f-]{36}\n/s)
  })

  test('deliveries lists the log, and delivery shows the request and the response', async () => {
    const out = await succeed(['deliveries', 'cmms'])
    assert.match(out, /^\S+ +failed +events\.webhook\.tested +webhook\/\S+ +1 +503 .*[0-9a-f-]{36}$/m)
    assert.match(out, /^\S+ +succeeded +events\.webhook\.tested +webhook\/\S+ +1 +200 +[0-9a-f-]{36}$/m)
    const lines = (await succeed(['deliveries', 'cmms', '--state', 'failed', '--all', '--ndjson'])).trim().split('\n')
    assert.equal(lines.length, 1)
    const shown = await succeed(['delivery', 'cmms', JSON.parse(lines[0] ?? '').id])
    assert.match(shown, /responseBody +the response/)
    assert.match(shown, /io\.millwright\.events\.webhook\.tested/)
    assert.match((await webhooks(['deliveries', 'cmms', '--dead-letters'])).err, /No delivery matches/)
  })

  test('deliveries --follow prints new deliveries until Ctrl-C', async () => {
    const { terminal, printed, interrupt } = testTerminal({ environment: environment() })
    const following = run(['webhooks', 'deliveries', 'cmms', '--follow'], terminal)
    const count = () => printed.out.split('events.webhook.tested').length - 1
    await untilTrue(() => count() === 2)
    await succeed(['test', 'cmms'])
    await untilTrue(() => count() === 3)
    interrupt()
    assert.equal(await following, 0)
    assert.equal(count(), 3)
  })

  test(
    'deliveries --follow starts with the newest deliveries of a long log, and prints each new one once',
    onlyInLongRuns,
    async () => {
      const admin = await platform.as('administrator')
      await succeed(['create', url, '--type', 'authorization.access-group', '--name', 'groups'])
      const createGroups = async (prefix: string, count: number) => {
        for (let index = 0; index < count; index++)
          await admin.authorization.createAccessGroup({ body: { data: { name: `${prefix}-${index}` } } })
      }
      await createGroups('old', 120)
      const { terminal, printed, interrupt } = testTerminal({ environment: environment() })
      await untilTrue(
        async () => (await succeed(['deliveries', 'groups', '--all', '--ndjson'])).split('\n').length > 120,
      )
      const following = run(['webhooks', 'deliveries', 'groups', '--follow', '--ndjson'], terminal)
      const lines = () => printed.out.trim().split('\n')
      await untilTrue(() => lines().length === 10)
      await createGroups('new', 120)
      await untilTrue(() => lines().length >= 130)
      interrupt()
      assert.equal(await following, 0)
      const ids = lines().map((line) => JSON.parse(line).id)
      assert.equal(new Set(ids).size, 130)
      await succeed(['delete', 'groups', '--yes'])
    },
  )

  test('rotate-secret prints a new secret and the time until which the previous one is valid', async () => {
    const out = await succeed(['rotate-secret', 'cmms', '--previous-hours', '2'])
    assert.match(out, /^secret +whsec_/m)
    assert.match(out, /^previousSecretExpiresTimestamp +20/m)
    await succeed(['test', 'cmms'])
    assert.match(String(received.at(-1)?.['webhook-signature']), /^v1,\S+ v1,\S+$/)
    assert.doesNotMatch(await succeed(['rotate-secret', 'cmms', '--previous-hours', '0']), /previousSecret/)
  })

  test('pause and resume change the state', async () => {
    assert.equal(await succeed(['pause', 'cmms']), 'cmms is paused\n')
    assert.match(await succeed(['list']), /^cmms +paused /m)
    assert.equal(await succeed(['resume', 'cmms']), 'cmms is active\n')
  })

  test('retry needs a delivery or --dead-letters, and replay needs a position and a confirmation', async () => {
    assert.match(await fail(['retry', 'cmms'], 2), /Name one delivery/)
    assert.equal(await succeed(['retry', 'cmms', '--dead-letters']), 'There are no dead letters\n')
    await fail(['replay', 'cmms'], 2)
    assert.match(await fail(['replay', 'cmms', '--from', '1'], 2), /--yes/)
    assert.match(
      await succeed(['replay', 'cmms', '--from', '1', '--yes']),
      /^cmms sends the events from position 1 to \d+ again\n$/,
    )
    assert.match(await fail(['replay', 'cmms', '--from', '1000000', '--yes'], 2), /invalid_cursor/)
  })

  test('delete asks first, and an unknown name is not found', async () => {
    assert.match(await fail(['delete', 'cmms'], 2), /--yes/)
    const { code, out } = await webhooks(['delete', 'cmms'], { answers: ['y'] })
    assert.deepEqual([code, out], [0, 'cmms deleted\n'])
    assert.match(await fail(['show', 'cmms'], 4), /Webhook "cmms" not found/)
  })
})
