import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import type { CloudEvent } from '@millwright/api/events.ts'
import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import { EventReader } from '@millwright/cloud/platform/testing/event-reader.ts'
import {
  assertionOf,
  endDiscoveryJob,
  enrolledGateway,
  foundDevice,
  leaseDiscovery,
  linkReport,
  platformOver,
  proofFor,
  requestToken as requestGatewayToken,
  type TestGateway,
  uploadDevices,
} from '@millwright/cloud/platform/testing/gateway.ts'
import type { RawRequest } from '@millwright/cloud/platform/testing/hub.ts'
import {
  codeOf,
  type PasskeyOptions,
  readStep,
  SoftwareAuthenticator,
  TwoStepSignIn,
} from '@millwright/cloud/services/identity/factors/testing.ts'
import {
  authorizePath,
  Browser,
  refresh,
  requestToken,
  rightPassword,
  wrongPassword,
} from '@millwright/cloud/services/identity/testing.ts'
import { createSession, gatewayTunnel, openStream } from '@millwright/cloud/services/remote-access/testing.ts'
import { createAssets } from './crash.ts'
import { bearer, type Caller, until } from './platform.ts'
import { tunnelOpen } from './remote-device.ts'
import { Replicas } from './replicas.ts'
import { over } from './shop-floor.ts'
import { withinLimit } from './time-limit.ts'

/**
 * These tests run two complete processes of the platform behind a load balancer that sends each request to the next process.
 * `atFirst` and `atSecond` are the same caller at one of the processes.
 */

/** The time in which another process must continue the work of a killed process. */
const takeoverMs = 10_000
/** The number of discoveries with a schedule. */
const schedules = 8
/** The number of requests per second of one principal. */
const rateLimit = 50

let replicas: Replicas
let caller: Caller
let atFirst: Caller
let atSecond: Caller
/** A gateway, and an asset that it found. */
let gateway: TestGateway
let assetId: string
let receiver: { server: Server; events: CloudEvent[] }

before(async () => {
  receiver = await startReceiver()
  replicas = await Replicas.start({
    environment: { MILLWRIGHT_OUTBOUND_ALLOW: '127.0.0.1', MILLWRIGHT_RATE_LIMIT: `${rateLimit}` },
  })
  caller = await replicas.caller()
  atFirst = await replicas.caller(replicas.at(0), caller.token)
  atSecond = await replicas.caller(replicas.at(1), caller.token)
})

after(async () => {
  await replicas?.[Symbol.asyncDispose]()
  receiver?.server.close()
  receiver?.server.closeAllConnections()
})

/** Starts a receiver of webhooks that accepts all events. */
async function startReceiver(): Promise<{ server: Server; events: CloudEvent[] }> {
  const events: CloudEvent[] = []
  const server = createServer(async (request, response) => {
    events.push(JSON.parse(await text(request)) as CloudEvent)
    response.writeHead(204).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return { server, events }
}

async function createUser(name: string, role = 'viewer'): Promise<{ id: string; signInName: string }> {
  const { data } = await caller.identity.createUser({ body: { data: { name, password: rightPassword } } })
  await caller.authorization.createGrant({ body: { data: { principal: data.id, role } } })
  return { id: data.id, signInName: `${name}@default` }
}

const isAllowed = (attempt: Promise<unknown>) =>
  attempt.then(
    () => true,
    () => false,
  )

/**
 * `ProcessorWaits` sums up how long this process waited for a processor. On a busy machine, the processes of the platform wait
 * as long, so a time limit does not count these waits.
 */
class ProcessorWaits implements Disposable {
  ms = 0
  readonly #timer: NodeJS.Timeout

  constructor() {
    const everyMs = 20
    let lastAt = performance.now()
    this.#timer = setInterval(() => {
      const now = performance.now()
      this.ms += Math.max(0, now - lastAt - 2 * everyMs)
      lastAt = now
    }, everyMs)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

/** Returns how long a change at one process takes until a condition is true at another process. */
async function delayOf(what: string, condition: () => Promise<boolean>): Promise<number> {
  const startedAt = performance.now()
  await until(what, condition)
  return performance.now() - startedAt
}

describe('sign-in over two processes', () => {
  test('signs in with a password and a second factor, and rotates the refresh token', async () => {
    const { signInName } = await createUser('tina')
    await caller.identity.updateSignInPolicy({ body: { data: { secondFactor: 'everyone' } } })
    const platform = platformOver(replicas.baseUrl)
    const enrolling = new TwoStepSignIn(platform)
    const page = await enrolling.password(signInName)
    const { secret } = readStep(page)
    const codes = await enrolling.submit(page, { code: codeOf(secret, -1) })
    assert.equal(readStep(codes).recoveryCodes.length, 10, codes.text)

    const signIn = new TwoStepSignIn(platform)
    const step = await signIn.password(signInName)
    const back = await signIn.submit(step, { code: codeOf(secret) })
    assert.equal(back.status, 303, readStep(back).error)
    const { accessToken, refreshToken } = await signIn.tokens(back)
    for (const index of [0, 1]) await (await replicas.caller(replicas.at(index), accessToken)).identity.userInfo({})
    const second = (await refresh(platform, refreshToken)).body.refresh_token ?? ''
    assert.equal((await refresh(platform, second)).status, 200)
    const reused = await refresh(platform, refreshToken)
    assert.deepEqual([reused.status, reused.body.error], [400, 'invalid_grant'])
    await caller.identity.updateSignInPolicy({ body: { data: { secondFactor: 'nobody' } } })
  })

  test('accepts the challenge of a passkey in the other process, once', async () => {
    const { signInName } = await createUser('pia', 'administrator')
    const platform = platformOver(replicas.baseUrl)
    const tokens = await signInTokens(signInName)
    const [first, second] = await Promise.all(
      [0, 1].map((index) => replicas.caller(replicas.at(index), tokens.accessToken)),
    )
    assert.ok(first && second)
    const authenticator = new SoftwareAuthenticator(replicas.baseUrl)
    const response = authenticator.create((await first.identity.startPasskey({})).data as PasskeyOptions)
    await second.identity.addPasskey({ body: { data: { name: 'Key', response } } })

    const signIn = new TwoStepSignIn(platform)
    const page = await signIn.password(signInName)
    const { options } = readStep(page)
    assert.ok(options)
    assert.equal((await signIn.submit(page, { passkey: authenticator.use(options) })).status, 303)

    const { data } = await second.identity.startStepUp({})
    const passkey = authenticator.use(data.passkeyOptions as PasskeyOptions)
    await first.identity.stepUp({ body: { data: { passkey } } })
    await assert.rejects(second.identity.stepUp({ body: { data: { passkey } } }), { code: 'passkey_refused' })
  })

  /** Signs a user in with the password. */
  async function signInTokens(signInName: string) {
    const signIn = new TwoStepSignIn(platformOver(replicas.baseUrl))
    return signIn.tokens(await signIn.password(signInName))
  }
})

describe('limits over two processes', () => {
  test('counts wrong passwords of an address in both processes', async () => {
    const { signInName } = await createUser('guessed')
    const platform = platformOver(replicas.baseUrl)
    const from = (address: string) => ({
      ...platform,
      request: (request: RawRequest) =>
        platform.request({ ...request, headers: { ...request.headers, 'x-forwarded-for': address } }),
    })
    const guess = async (address: string) => {
      const target = from(address)
      const typed = { name: signInName, password: wrongPassword }
      return new Browser(target).signIn(authorizePath(target), typed)
    }
    const statuses: number[] = []
    for (let attempt = 0; attempt < 7; attempt++) statuses.push((await guess('198.51.100.7')).status)
    // Five wrong passwords cause no wait. Each process alone would have counted four.
    assert.deepEqual(statuses.slice(0, 5), Array(5).fill(401))
    assert.ok(statuses.slice(5).includes(429), statuses.join())
    assert.equal((await guess('198.51.100.8')).status, 401)
  })

  test('applies the rate limit to both processes together', async () => {
    const { data: made } = await caller.identity.createServerUser({ body: { data: { name: 'flood' } } })
    const { clientId: client_id, clientSecret: client_secret } = made
    const form = { grant_type: 'client_credentials', client_id, client_secret }
    const granted = await requestToken(platformOver(replicas.baseUrl), form)
    assert.equal(granted.status, 200, JSON.stringify(granted.body))
    const headers = bearer(granted.body.access_token ?? '')
    const statuses: number[] = []
    const startedAt = performance.now()
    const send = async () => {
      while (performance.now() - startedAt < 2_000 || !statuses.includes(429)) {
        const { status } = await fetch(`${replicas.baseUrl}/oauth/userinfo`, { headers })
        statuses.push(status)
        if (status !== 200 && status !== 429) return
      }
    }
    // On a slow machine, it takes longer until the requests exceed the limit.
    await withinLimit('a request exceeds the limit', Promise.all(Array.from({ length: 8 }, send)), 60_000)
    const seconds = (performance.now() - startedAt) / 1_000
    const allowed = statuses.filter((status) => status === 200).length
    assert.deepEqual(new Set(statuses), new Set([200, 429]))
    // Each process allows a burst of one second. Then the rate applies to both processes together.
    assert.ok(allowed <= rateLimit * (2 + seconds) * 1.1, `${allowed} requests in ${seconds} seconds`)
  })
})

describe('access in two processes', () => {
  test('applies grants, revoked grants and disabled accounts of the other process within a second', async (context) => {
    const { data: made } = await atFirst.identity.createServerUser({ body: { data: { name: 'historian' } } })
    await atFirst.authorization.createGrant({ body: { data: { principal: made.id, role: 'viewer' } } })
    const { clientId: client_id, clientSecret: client_secret } = made
    const granted = await requestToken(platformOver(replicas.at(1).url), {
      grant_type: 'client_credentials',
      client_id,
      client_secret,
    })
    assert.equal(granted.status, 200, JSON.stringify(granted.body))
    const historian = await replicas.caller(replicas.at(1), granted.body.access_token)
    const reads = () => isAllowed(historian.inventory.listAssets({}))
    assert.ok(await reads())
    const { data: grants } = await atFirst.authorization.listGrants({ query: { principal: made.id } })
    await atFirst.authorization.deleteGrant({ params: { id: grants[0]?.id ?? '' } })
    const revoked = await delayOf('the grant is revoked', async () => !(await reads()))
    await atFirst.authorization.createGrant({ body: { data: { principal: made.id, role: 'viewer' } } })
    const restored = await delayOf('the grant is restored', reads)
    await atFirst.identity.updateServerUser({ params: { id: made.id }, body: { data: { disabled: true } } })
    const disabled = await delayOf('the account is disabled', async () => !(await reads()))
    context.diagnostic(`delays in ms: ${[revoked, restored, disabled].map(Math.round).join(', ')}`)
    for (const delay of [revoked, restored, disabled]) assert.ok(delay < 1_000, `${delay} ms`)
  })
})

describe('requests at two processes', () => {
  before(async () => {
    gateway = await enrolledGateway(platformOver(replicas.baseUrl), caller as never, { name: 'line 1' })
  })

  test('accepts an assertion and a proof once, in any process', async () => {
    const through = platformOver(replicas.baseUrl)
    const assertion = await assertionOf(through, gateway)
    const atProcess = (index: number) => platformOver(replicas.at(index).url)
    assert.equal((await requestGatewayToken(atProcess(0), assertion)).status, 200)
    const replayed = await requestGatewayToken(atProcess(1), assertion)
    assert.deepEqual([replayed.status, (replayed.body as { error: string }).error], [401, 'invalid_client'])

    const method = 'PUT'
    const path = '/gatekeeper/v1/links'
    const dpop = await proofFor(through, { method, path, token: gateway.token, key: gateway.key })
    const headers = { ...bearer(gateway.token), dpop, 'content-type': 'application/json' }
    const body = JSON.stringify({ data: { gatewayVersion: '1.0.0', links: [] } })
    const [first, second] = await Promise.all(
      [0, 1].map((index) => atProcess(index).request({ method, path, headers, body })),
    )
    const refused = [first, second].filter((answer) => answer?.status === 401)
    assert.equal(refused.length, 1, JSON.stringify([first?.body, second?.body]))
    assert.match(JSON.stringify(refused[0]?.body), /already used/)
  })

  test('runs a request with an Idempotency-Key once, also when both processes get it at the same time', async () => {
    const create = (at: Caller, key: string) =>
      at.authorization.createAccessGroup({ headers: { 'idempotency-key': key }, body: { data: { name: key } } })
    const { data: made } = await create(atFirst, 'hall 1')
    assert.deepEqual((await create(atSecond, 'hall 1')).data, made)
    const results = await Promise.allSettled([create(atFirst, 'hall 2'), create(atSecond, 'hall 2')])
    for (const result of results)
      if (result.status === 'rejected') assert.equal(result.reason.code, 'request_in_progress')
    const { data: groups } = await caller.authorization.listAccessGroups({ query: { name: 'hall 2' } })
    assert.equal(groups.length, 1)
    assert.deepEqual((await create(caller, 'hall 2')).data.id, groups[0]?.id)
  })

  test('gives a gateway that waits at one process the job that the other process created', async () => {
    const link = linkReport({ appInstanceId: 'link-of-line-1' })
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [link] } } })
    const waiting = leaseDiscovery(gateway)
    const { jobId } = await caller.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: { data: { assetLinkId: link.appInstanceId } },
    })
    const leased = await waiting
    for (const sequence of [0, 1, 2, 3]) {
      const address = `10.20.0.${sequence + 1}`
      const connection_points = [{ connection_point_type: 'Ipv4Connectivity', ipv4_address: address }]
      const assets = [foundDevice(sequence, { connection_points })]
      await uploadDevices(gateway, leased, { assets, sequence, deviceAddresses: [{ asset: 0, address }] })
    }
    await endDiscoveryJob(gateway, leased)
    const { state, ...discovery } = await over(caller, jobId, 60_000)
    assert.equal(state, 'finished', JSON.stringify(discovery))
    const { data: report } = await caller.discovery.getReport({ params: { jobId } })
    assert.equal(report.findings.length, 4)
    assetId = report.findings[0]?.assetId ?? ''
  })

  test('imports a file and exports the assets', async () => {
    const content = 'Name,Manufacturer,Serial number\nImported 1,Acme,I-1\nImported 2,Acme,I-2\n'
    const { importId } = (await caller.imports.uploadFile({ body: { mediaType: 'text/csv', content } })).data
    await until('the import has ended', async () => {
      const { data } = await caller.imports.readImport({ params: { importId } })
      assert.ok(['queued', 'running', 'finished'].includes(data.state), JSON.stringify(data))
      return data.state === 'finished'
    })
    const request = { what: 'assets', format: 'ndjson', filter: "startswith(name, 'Imported ')" } as const
    const { exportId } = (await caller.exports.createExport({ body: { data: request } })).data
    const read = async () => (await caller.exports.readExport({ params: { exportId } })).data
    await until('the export has ended', async () => (await read()).state === 'finished')
    for (const url of replicas.urls) {
      const file = await fetch(`${url}/exports/v1/files/${exportId}/content`, { headers: bearer(caller.token) })
      assert.equal((await file.text()).trimEnd().split('\n').length, 2)
    }
  })

  test('receives the parts of an upload in turns', async () => {
    const bytes = randomBytes(500_000)
    const { data } = await caller.updates.createArtefact({
      body: {
        data: {
          name: 'Firmware',
          manufacturer: 'Example',
          products: ['PUMP-1'],
          version: '2.0.0',
          kind: 'firmware',
          sha256: createHash('sha256').update(bytes).digest('hex'),
          size: bytes.length,
        },
      },
    })
    const path = `/updates/v1/artefacts/${data.id}/content`
    for (const first of [0, 125_000, 250_000, 375_000]) {
      const last = first + 124_999
      const response = await fetch(replicas.baseUrl + path, {
        method: 'PUT',
        headers: {
          ...bearer(caller.token),
          'content-type': 'application/octet-stream',
          'content-range': `bytes ${first}-${last}/${bytes.length}`,
        },
        body: bytes.subarray(first, last + 1),
      })
      assert.equal(response.status, last === bytes.length - 1 ? 200 : 202, await response.text())
    }
    for (const url of replicas.urls) {
      const content = await fetch(url + path, { headers: bearer(caller.token) })
      assert.ok(bytes.equals(Buffer.from(await content.arrayBuffer())))
    }
  })
})

describe('kill of a process', () => {
  test('connects a remote session through either process, and again after the kill of the process of the tunnel', async (context) => {
    const { tunnel, attach } = gatewayTunnel(platformOver(replicas.baseUrl), gateway)
    await attach(replicas.at(0).url)
    await tunnelOpen(atSecond, gateway.id)
    const session = await createSession(atSecond as never, { assetId })
    assert.equal(session.state, 'open')
    const echoed = async (url: string) => {
      using client = await openStream(session.id, { url, token: caller.token })
      client.send('hello')
      await until('the bytes come back', () => client.bytes.toString() === 'hello' || client.closed !== undefined)
      assert.equal(client.closed, undefined)
    }
    for (const url of [replicas.baseUrl, ...replicas.urls]) await echoed(url)

    const killedAt = performance.now()
    using waits = new ProcessorWaits()
    await replicas.kill(replicas.at(0))
    await until('the tunnel is lost', () => tunnel.state !== 'attached')
    const again = gatewayTunnel(platformOver(replicas.baseUrl), gateway)
    await again.attach(replicas.baseUrl)
    await until('a new stream works', () => isAllowed(echoed(replicas.baseUrl)))
    const ms = Math.round(performance.now() - killedAt)
    context.diagnostic(`a new stream works ${ms} ms after the kill`)
    assert.ok(ms - waits.ms < takeoverMs, `${ms} ms`)
    again.tunnel.close('The test has ended')
    tunnel.close('The test has ended')
    await replicas.restart(replicas.at(0))
  })

  test('starts each scheduled discovery once, also when a process is killed at that time', async (context) => {
    const link = linkReport({ appInstanceId: 'link-of-line-1' })
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [link] } } })
    const jobIds: string[] = []
    for (let number = 0; number < schedules; number++) {
      const data = { assetLinkId: link.appInstanceId, schedule: { cron: '0 3 * * *', timezone: 'UTC' } }
      jobIds.push((await caller.discovery.createDiscovery({ params: { gatewayId: gateway.id }, body: { data } })).jobId)
    }
    const runsOf = async (jobId: string) => (await caller.discovery.listRuns({ params: { jobId } })).data
    for (const jobId of jobIds) assert.deepEqual(await runsOf(jobId), [])
    await dueInTurns(jobIds)
    await until('the first scheduled discovery has started', async () => (await runsOf(jobIds[0] ?? '')).length > 0)
    const killedAt = performance.now()
    using waits = new ProcessorWaits()
    await replicas.kill(replicas.at(0))
    for (const jobId of jobIds)
      await until('the scheduled discovery has started', async () => (await runsOf(jobId)).length > 0)
    const ms = Math.round(performance.now() - killedAt)
    context.diagnostic(`all scheduled discoveries have started ${ms} ms after the kill`)
    assert.ok(ms - waits.ms < takeoverMs, `${ms} ms`)
    await replicas.restart(replicas.at(0))
    for (const jobId of jobIds) {
      const triggers = (await runsOf(jobId)).map(({ trigger }) => trigger)
      assert.deepEqual(triggers, ['schedule'])
      await caller.discovery.deleteDiscovery({ params: { jobId } })
    }
  })

  /** Makes schedules due in the next two seconds, one after the other, because a schedule has a resolution of a minute. */
  async function dueInTurns(jobIds: readonly string[]): Promise<void> {
    const owner = await openClient(replicas.connection)
    try {
      for (const [index, jobId] of jobIds.entries())
        await owner.query(
          `update schedules set next_run_at = now() + $2 * interval '1 millisecond'
           where tenant_id = (select id from tenants where name = 'default') and key = $1`,
          [jobId, (index * 2_000) / jobIds.length],
        )
    } finally {
      await owner.end()
    }
  }

  test('loses no accepted write, event or webhook, and the other process continues within ten seconds', async (context) => {
    const { port } = receiver.server.address() as AddressInfo
    const types = ['io.millwright.inventory.asset.']
    await caller.events.createWebhook({ body: { data: { url: `http://127.0.0.1:${port}/`, types, batchSize: 1 } } })
    const opening = { token: caller.token, query: { types: types.join(',') } }
    let reader = await EventReader.open(replicas.at(0).url, opening)
    await createAssets(atFirst, 0, 20)
    const events = await reader.take(20)
    // The process accepts these writes, and is killed before it can apply all of them.
    const accepted = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const asset = {
          functional_object_type: 'Device',
          name: `late ${index}`,
          asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `late-${index}` }],
        }
        return (await atFirst.inventory.createAsset({ body: { data: { asset } } })).data.statusId
      }),
    )
    const killedAt = performance.now()
    using waits = new ProcessorWaits()
    await replicas.kill(replicas.at(0))
    const elapsed = () => Math.round(performance.now() - killedAt)
    for (const id of accepted)
      await until('the write is applied', async () => {
        const { data } = await caller.inventory.readStatus({ params: { id }, query: { wait: 5 } })
        return data.state === 'finished'
      })
    const appliedMs = elapsed()
    reader = await EventReader.open(replicas.baseUrl, { ...opening, lastEventId: reader.lastEventId })
    events.push(...(await reader.take(20)))
    reader.close()
    const publishedMs = elapsed()
    assert.equal(new Set(events.map(({ id }) => id)).size, 40)
    const delivered = () => new Set(receiver.events.map(({ id }) => id))
    await until('all events are delivered', () => events.every(({ id }) => delivered().has(id)))
    const deliveredMs = elapsed()
    context.diagnostic(`after the kill: applied ${appliedMs}, published ${publishedMs}, delivered ${deliveredMs} ms`)
    assert.ok(deliveredMs - waits.ms < takeoverMs, `${deliveredMs} ms`)
  })
})
