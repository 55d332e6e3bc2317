import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { SignedReceipt } from '@millwright/api/receipt.ts'
import { verifyReceipt } from '@millwright/api/receipt-signature.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type DiscoverCall, type DiscoveryResult, defineLink } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { openPermitSource } from '@millwright/link-sdk/network/permit-source.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { rangeFilters, scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { calculateJwkThumbprint } from 'jose'
import { type RunningGateway, startGateway } from '../gateway.ts'
import { createLog } from '../log.ts'
import { Registry } from '../registry/registry.ts'
import { settingsFor, TestCloud, temporaryFolder, until } from '../testing.ts'
import { readBudget } from './budget-file.ts'
import { GatewayPermits } from './gateway-permits.ts'
import { permitService } from './permit-service.ts'

type Packet = { text: string }

/** A UDP device that records what it receives. */
async function udpDevice() {
  const packets: Packet[] = []
  const socket = createSocket('udp4', (bytes) => packets.push({ text: String(bytes) }))
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { packets, port: (socket.address() as AddressInfo).port, [Symbol.dispose]: () => void socket.close() }
}

/** Returns the receipt in the journal of a running scan. */
function journalOf(home: string): SignedReceipt | undefined {
  const folder = join(home, 'scans')
  const name = existsSync(folder) ? readdirSync(folder).find((one) => one.endsWith('.json')) : undefined
  return name === undefined ? undefined : JSON.parse(readFileSync(join(folder, name), 'utf8')).receipt
}

const sends = [{ protocol: 'knock', operation: 'Knock', transport: 'udp' as const, description: 'One datagram' }]

/** A link that sends datagrams to each address of its range, `rounds` times, and ignores the signal of its call. */
function knockingLink(id: string, { port, rounds }: { port: number; rounds: number }) {
  async function* discover({ filters, permits }: DiscoverCall): AsyncGenerator<DiscoveryResult> {
    const socket = createSocket('udp4')
    try {
      for (let round = 0; round < rounds; round += 1) {
        for (const address of scanRangeOf(filters).addresses()) {
          try {
            await permits.take({ address, protocol: 'knock', operation: 'Knock', kind: 'datagram' })
          } catch (error) {
            if (error instanceof PermitRefusedError && error.reason === 'excluded') continue
            throw error
          }
          await new Promise<void>((resolve) => socket.send(`${id} to ${address}`, port, '127.0.0.1', () => resolve()))
        }
      }
    } finally {
      socket.close()
    }
    yield { error: new LinkError('NOT_FOUND', 'done'), address: { ip_address: '127.0.0.1' } }
  }
  return defineLink({
    manifest: { id, name: id, vendor: 'Test', version: '1.0.0', sends, filters: rangeFilters },
    discover,
  })
}

/** The program of a link that sends requests for permits, but no packets, until a permit is refused. */
const switchedLinkText = `
import { runLink } from '${new URL('../../link-sdk/run-link.ts', import.meta.url)}'
const sends = ${JSON.stringify(sends)}
async function* discover({ permits }) {
  for (;;) {
    await permits.take({ address: '10.1.7.1', protocol: 'knock', operation: 'Knock', kind: 'datagram' })
    if (false) yield
  }
}
const manifest = { id: 'test.switched', name: 'Switched', vendor: 'Test', version: '1.0.0', sends }
await runLink({ manifest, discover })
`

type Attempt = { token?: string; operation?: string; scan?: string }

/** Serves permits at a free port, without a gateway. */
async function permitServer(options: Parameters<typeof permitService>[0]) {
  const server = new Server()
  server.addService(...permitService(options))
  const port = await new Promise<number>((resolve) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
  )
  const address = `127.0.0.1:${port}`
  const open = (instance: string, token?: string, scan?: string) => {
    const manifest = { id: 'a', name: 'a', vendor: 'a', version: '1.0.0', sends }
    const source = openPermitSource({ manifest, registry: address, instance, token })
    return source.forCall({ signal: new AbortController().signal, ...(scan === undefined ? {} : { scan }) })
  }
  return { address, open, [Symbol.asyncDispose]: async () => server.forceShutdown() }
}

const log = createLog({ level: 'silent' })

function connectionTo(host: number) {
  return { address: `10.1.5.${host}`, protocol: 'knock', operation: 'Knock', kind: 'connection' } as const
}

describe('permits', () => {
  let cloud: TestCloud
  let gateway: RunningGateway
  const home = temporaryFolder()
  const switchedLink = join(temporaryFolder(), 'switched.mjs')
  const setBudget = (budget: object) => writeFileSync(join(home, 'budget.json'), JSON.stringify(budget))

  before(async () => {
    cloud = await TestCloud.start()
    cloud.configure(home)
    writeFileSync(switchedLink, switchedLinkText)
    const functions = async () => sends
    const builtInLinks = [{ name: 'switched', appInstanceId: 'test.switched', file: switchedLink, functions }]
    gateway = await startGateway(settingsFor(home), { renewEveryMs: 50, builtInLinks })
    await gateway.startLinks()
  })
  after(async () => {
    await gateway.stop()
    await cloud.stop()
  })
  beforeEach(() => setBudget({}))

  async function run(id: string, device: { port: number }, rounds: number) {
    const reported = cloud.callsOf('reportLinks').length
    const link = await startLink(knockingLink(id, { port: device.port, rounds }), {
      registry: `127.0.0.1:${gateway.registryPort}`,
      logLevel: 'silent',
    })
    const isListed = () =>
      cloud
        .callsOf('reportLinks')
        .slice(reported)
        .some(({ body }) =>
          body.data.links.some(
            (one: { appInstanceId: string; state: string }) => one.appInstanceId === id && one.state === 'running',
          ),
        )
    await until(isListed)
    return link
  }
  /** Changes the budget and waits until the gateway uses it. */
  async function applyBudget(budget: object) {
    setBudget(budget)
    const expected = await readBudget(join(home, 'budget.json'))
    await until(() => isDeepStrictEqual(gateway.status().budget, expected))
  }
  const scan = (id: string, range: string) =>
    cloud.offer('discovery', {
      runId: crypto.randomUUID(),
      discoveryId: crypto.randomUUID(),
      assetLinkId: id,
      filters: [{ key: 'ip_range', value: range }],
    })
  const receiptOf = (job: string): SignedReceipt =>
    cloud.callsOf('uploadReceipt').find(({ params }) => params.id === job)?.body.data.receipt
  const endOf = (job: string) => until(() => cloud.endOf(job))

  test('two links that scan the same device share its budget', onlyInLongRuns, async () => {
    setBudget({ perDevice: { datagramsPerSecond: 20 } })
    using device = await udpDevice()
    await using _one = await run('share.one', device, 12)
    await using _two = await run('share.two', device, 12)
    const jobs = [scan('share.one', '10.1.0.1'), scan('share.two', '10.1.0.1')]
    for (const job of jobs) assert.equal((await endOf(job)).state, 'FINISHED')
    await until(() => device.packets.length === 24)
    // The times of the permits are compared, because a busy machine delays datagrams. 24 permits at 20 per second need 23
    // intervals of 50 ms.
    const traffic = jobs.flatMap((job) => receiptOf(job).devices)
    const firstMs = Math.min(...traffic.map(({ first }) => Date.parse(first)))
    const lastMs = Math.max(...traffic.map(({ last }) => Date.parse(last)))
    assert.deepEqual(
      traffic.map(({ packets }) => packets),
      [{ 'knock Knock': 12 }, { 'knock Knock': 12 }],
    )
    assert.ok(lastMs - firstMs >= 23 * 50, `${lastMs - firstMs} ms`)
  })

  test('an excluded address receives nothing, and the signed receipt lists what was sent', async () => {
    setBudget({ excludedAddresses: ['10.1.1.2-10.1.1.3'] })
    using device = await udpDevice()
    await using _link = await run('excluding', device, 2)
    const job = scan('excluding', '10.1.1.1-10.1.1.4')
    await endOf(job)
    await until(() => device.packets.length === 4)
    assert.deepEqual(
      new Set(device.packets.map(({ text }) => text)),
      new Set(['excluding to 10.1.1.1', 'excluding to 10.1.1.4']),
    )
    const receipt = receiptOf(job)
    assert.deepEqual(verifyReceipt(receipt), {
      isValid: true,
      thumbprint: await calculateJwkThumbprint(cloud.key ?? {}),
    })
    assert.equal(verifyReceipt({ ...receipt, totals: { 'knock Knock': 3 } }).isValid, false)
    assert.deepEqual(
      receipt.devices.map((one) => ['address' in one ? one.address : one.network, one.packets]),
      [
        ['10.1.1.1', { 'knock Knock': 2 }],
        ['10.1.1.4', { 'knock Knock': 2 }],
      ],
    )
    const { totals, refused, state, budget } = receipt
    assert.deepEqual(
      { totals, refused, state },
      { totals: { 'knock Knock': 4 }, refused: { excluded: 4 }, state: 'finished' },
    )
    assert.deepEqual(budget.excludedAddresses, ['10.1.1.2-10.1.1.3'])
    assert.ok(receipt.devices.every(({ first, last }) => receipt.from <= first && first < last && last <= receipt.to))
    const order = cloud.calls.filter(({ body }) => JSON.stringify(body).includes(job)).map(({ operation }) => operation)
    assert.ok(order.indexOf('uploadReceipt') < order.indexOf('endJob'), `${order}`)
  })

  test('a link that ignores the cancellation of its scan sends nothing afterwards', onlyInLongRuns, async () => {
    setBudget({ perDevice: { datagramsPerSecond: 5 } })
    using device = await udpDevice()
    await using _link = await run('stubborn', device, 1_000_000)
    await using _other = await run('patient', device, 2)
    const job = scan('stubborn', '10.1.2.1')
    await until(() => device.packets.length > 1)
    cloud.canceled.add(job)
    assert.equal((await endOf(job)).state, 'CANCELED')
    const { state, totals } = receiptOf(job)
    assert.equal(state, 'canceled')
    // The scan of another link takes much longer than one interval, so that a late datagram of the first link is seen.
    await endOf(scan('patient', '10.1.2.2-10.1.2.101'))
    const received = device.packets.filter(({ text }) => text.startsWith('stubborn')).length
    const permitted = totals['knock Knock'] ?? 0
    assert.ok(received <= permitted, `${received} datagrams with ${permitted} permits`)
  })

  test('a change of the budget applies to a running scan, and the receipt lists both budgets', async () => {
    setBudget({ perDevice: { datagramsPerSecond: 20 } })
    using device = await udpDevice()
    await using _link = await run('following', device, 1_000_000)
    const job = scan('following', '10.1.8.1-10.1.8.2')
    await until(() => device.packets.length > 1)
    const changedAt = Date.now()
    setBudget({ perDevice: { datagramsPerSecond: 20 }, excludedAddresses: ['10.1.8.1'] })
    await until(() => gateway.status().budget.excludedAddresses.length === 1)
    const appliedAt = Date.now()
    const count = () => device.packets.filter(({ text }) => text.endsWith('10.1.8.2')).length
    const before = count()
    await until(() => count() > before + 5)
    cloud.canceled.add(job)
    await endOf(job)
    const { budget, budgets = [], devices, refused } = receiptOf(job)
    assert.deepEqual(budget.excludedAddresses, [])
    assert.deepEqual(
      budgets.map((one) => one.budget.excludedAddresses),
      [[], ['10.1.8.1']],
    )
    const [first, second] = budgets.map(({ from }) => Date.parse(from))
    assert.ok(first !== undefined && second !== undefined && first < second)
    assert.ok(second >= changedAt && second <= appliedAt, `${second} is between ${changedAt} and ${appliedAt}`)
    const last = devices.find((one) => 'address' in one && one.address === '10.1.8.1')?.last ?? ''
    assert.ok(Date.parse(last) <= second, 'the excluded address receives nothing after the change')
    assert.ok((refused.excluded ?? 0) > 0)
    assert.equal(verifyReceipt(receiptOf(job)).isValid, true)
  })

  test('a budget that becomes invalid ends a running scan with the invalid field', async () => {
    using device = await udpDevice()
    await using _link = await run('stopped', device, 1_000_000)
    const job = scan('stopped', '10.1.8.3')
    await until(() => device.packets.length > 1)
    setBudget({ excludedAddresses: ['10.1.8'] })
    const { state, message } = await endOf(job)
    assert.equal(state, 'FAILED')
    assert.match(message, /"10\.1\.8" in excludedAddresses is not an address/)
    assert.equal(receiptOf(job).state, 'failed')
  })

  test('a link that is switched off during its scan gets no permits, and the scan fails', onlyInLongRuns, async () => {
    const switchLink = (enabled: boolean) => endOf(cloud.offer('link-inventory', { link: 'switched', enabled }))
    const stateOf = () => gateway.status().managedLinks[0]?.state
    await switchLink(true)
    await until(() => stateOf() === 'running')
    const job = cloud.offer('discovery', {
      runId: crypto.randomUUID(),
      discoveryId: crypto.randomUUID(),
      assetLinkId: 'test.switched',
    })
    await until(() => gateway.status().scans > 0 && journalOf(home)?.totals['knock Knock'])
    await switchLink(false)
    const switchedAt = Date.now()
    const { state, message } = await endOf(job)
    assert.deepEqual([state, message], ['FAILED', 'The link switched was switched off during the scan'])
    const [device] = receiptOf(job).devices
    assert.ok(Date.parse(device?.last ?? '') <= switchedAt, 'the last permit was given before the switch')
    await until(() => stateOf() === 'stopped')
  })

  test('a gateway sends the receipts of scans that a stop or a crash interrupted', onlyInLongRuns, async () => {
    await using own = await TestCloud.start()
    const stopped = temporaryFolder()
    own.configure(stopped)
    const interrupted = await startGateway(settingsFor(stopped), { renewEveryMs: 50 })
    using device = await udpDevice()
    const link = await startLink(knockingLink('interrupted', { port: device.port, rounds: 1_000_000 }), {
      registry: `127.0.0.1:${interrupted.registryPort}`,
      logLevel: 'silent',
    })
    await until(() => interrupted.status().links.some(({ state }) => state === 'running'))
    const job = own.offer('discovery', {
      runId: crypto.randomUUID(),
      discoveryId: crypto.randomUUID(),
      assetLinkId: 'interrupted',
      filters: [{ key: 'ip_range', value: '10.1.8.4' }],
    })
    await until(() => (journalOf(stopped)?.totals['knock Knock'] ?? 0) > 1)
    // The copy has the files that a killed process leaves.
    const crashed = temporaryFolder()
    cpSync(stopped, crashed, { recursive: true })
    own.answering = ({ operation }) => (operation === 'uploadReceipt' ? { status: 503, body: {} } : undefined)
    await interrupted.stop()
    await link.stop()
    own.answering = () => undefined
    for (const folder of [crashed, stopped]) {
      own.calls.length = 0
      const again = await startGateway(settingsFor(folder))
      const [upload] = await until(() => own.callsOf('uploadReceipt').length > 0 && own.callsOf('uploadReceipt'))
      await again.stop()
      const { lease, receipt } = upload?.body.data ?? {}
      assert.deepEqual([upload?.params.id, lease, receipt.state], [job, own.leases.get(job), 'interrupted'])
      assert.ok(receipt.totals['knock Knock'] > 1)
      assert.equal(verifyReceipt(receipt).isValid, true)
      assert.equal(journalOf(folder), undefined)
    }
  })

  test('a scan with an invalid budget fails with the invalid field, and sends nothing', async () => {
    using device = await udpDevice()
    await using _link = await run('misconfigured', device, 1)
    setBudget({ perDevice: { requestsPerSecond: 0 } })
    const { state, message } = await endOf(scan('misconfigured', '10.1.3.1'))
    assert.equal(state, 'FAILED')
    assert.match(message, /budget\.json is not a valid budget: \/perDevice\/requestsPerSecond must be >= 1/)
    setBudget({ protocols: ['snmp'] })
    const second = await endOf(scan('misconfigured', '10.1.3.1'))
    assert.match(second.message, /The budget of the gateway does not allow the protocol knock/)
    assert.deepEqual(device.packets, [])
  })

  test('opens with an invalid budget, gives no permits, and gives permits when the budget is corrected', async () => {
    const file = join(temporaryFolder(), 'budget.json')
    writeFileSync(file, '{')
    using permits = await GatewayPermits.open(file)
    assert.match(permits.fault ?? '', /budget\.json is not a valid budget: it is not JSON/)
    const request = { address: '10.1.8.1', protocol: 'knock', operation: 'Knock', kind: 'datagram' as const }
    const { signal } = new AbortController()
    const take = permits.forCall({ linkId: 'a', signal })
    await assert.rejects(take(request), /is not a valid budget/)
    // A change is noticed only after the first check of the file, so the file is written until it is noticed.
    const isCorrected = () => {
      writeFileSync(file, '{}')
      return permits.fault === undefined
    }
    await until(isCorrected)
    using _permit = await take(request)
  })

  test('a link can take permits only for the functions of its manifest', async () => {
    await applyBudget({})
    const source = openPermitSource({
      manifest: { id: 'a', name: 'a', vendor: 'a', version: '1.0.0', sends },
      registry: `127.0.0.1:${gateway.registryPort}`,
    })
    using permits = source.forCall({ signal: new AbortController().signal })
    const request = { address: '10.1.4.1', protocol: 'knock', kind: 'datagram' as const }
    await permits.take({ ...request, operation: 'Knock' })
    await assert.rejects(permits.take({ ...request, operation: 'Write' }), /may not send knock Write/)
    source.close()
  })

  test('only the process of a built-in link gets permits with its id, and only for the functions of its manifest', async () => {
    const registry = await Registry.open({ file: join(temporaryFolder(), 'registry.json'), log })
    using issued = await GatewayPermits.open(join(temporaryFolder(), 'budget.json'))
    const functions = async () => sends
    const links = [{ appInstanceId: 'built-in', functions }]
    await using server = await permitServer({ permits: issued, registry, links })
    registry.reserve('built-in', 'secret')
    const more = [...sends, { ...sends[0], operation: 'Write' }] as typeof sends
    const take = async (instance: string, { token, operation = 'Knock', scan }: Attempt = {}) => {
      const manifest = { id: 'a', name: 'a', vendor: 'a', version: '1.0.0', sends: more }
      const source = openPermitSource({ manifest, registry: server.address, instance, token })
      using call = source.forCall({ signal: new AbortController().signal, ...(scan === undefined ? {} : { scan }) })
      await call.take({ address: '10.1.4.1', protocol: 'knock', operation, kind: 'datagram' })
      source.close()
    }
    await take('built-in', { token: 'secret' })
    await assert.rejects(take('built-in'), /Only its process gets permits/)
    await assert.rejects(take('built-in', { token: 'guess' }), /Only its process gets permits/)
    await assert.rejects(take('built-in', { token: 'secret', operation: 'Write' }), /does not contain knock Write/)
    await take('zähler')
    const scan = await issued.startScan('built-in')
    await take('built-in', { token: 'secret', scan: scan.id })
    await assert.rejects(take('other', { scan: scan.id }), /The scan has ended/)
    assert.deepEqual(scan.traffic.totals, { 'knock Knock': 1 })
    await registry.close()
  })

  test('a link gets permits for groups until the budget excludes an address, and the receipt counts the group', async () => {
    const registry = await Registry.open({ file: join(temporaryFolder(), 'registry.json'), log })
    const file = join(temporaryFolder(), 'budget.json')
    using issued = await GatewayPermits.open(file)
    await using server = await permitServer({ permits: issued, registry, links: [] })
    const scan = await issued.startScan()
    using call = server.open('one', undefined, scan.id)
    const take = (address: string) =>
      call.take({ address, protocol: 'knock', operation: 'Knock', kind: 'datagram' as const })
    await take('224.0.0.251')
    await take('01:0e:cf:00:00:00')
    const isExcluded = () => {
      writeFileSync(file, JSON.stringify({ excludedAddresses: ['10.0.0.7'] }))
      return issued.budget.excludedAddresses.length > 0
    }
    await until(isExcluded)
    await assert.rejects(take('224.0.0.251'), { reason: 'excluded', message: /also excluded ones/ })
    const request = { address: '10.1.4.2', protocol: 'knock', operation: 'Knock', kind: 'datagram' as const }
    await assert.rejects(call.take({ ...request, forwarded: true }), { reason: 'excluded', message: /other networks/ })
    const isAllowed = () => {
      writeFileSync(file, JSON.stringify({ excludedAddresses: ['10.0.0.7'], multicast: true }))
      return issued.budget.multicast === true
    }
    await until(isAllowed)
    await take('224.0.0.251')
    assert.deepEqual([...scan.traffic.addresses.keys()], ['224.0.0.251', '01:0e:cf:00:00:00'])
    assert.equal(scan.traffic.addresses.get('224.0.0.251')?.packets['knock Knock'], 2)
    assert.deepEqual(scan.traffic.refused, { excluded: 2 })
    await registry.close()
  })

  test('other links hold at most half of the connections', async () => {
    const registry = await Registry.open({ file: join(temporaryFolder(), 'registry.json'), log })
    const file = join(temporaryFolder(), 'budget.json')
    writeFileSync(file, JSON.stringify({ perGateway: { connections: 4 } }))
    using issued = await GatewayPermits.open(file)
    await using server = await permitServer({ permits: issued, registry, links: [] })
    registry.reserve('built-in', 'secret')
    const flood = ['one', 'two', 'three'].map((instance) => server.open(instance))
    let granted = 0
    const floods = flood.flatMap((call, index) =>
      [1, 2].map(async (host) => {
        await call.take(connectionTo(10 * index + host))
        granted += 1
      }),
    )
    const ended = Promise.allSettled(floods)
    const own = server.open('built-in', 'secret')
    await own.take(connectionTo(91))
    await own.take(connectionTo(92))
    assert.ok(granted <= 2, `${granted} connections`)
    for (const call of [...flood, own]) call[Symbol.dispose]()
    await ended
    // The connections for which the ended calls waited are not given.
    using later = server.open('later')
    await later.take(connectionTo(93))
    await later.take(connectionTo(94))
    await registry.close()
  })

  test('the call of a link that holds a connection longer than the limit ends', async () => {
    const registry = await Registry.open({ file: join(temporaryFolder(), 'registry.json'), log })
    using issued = await GatewayPermits.open(join(temporaryFolder(), 'budget.json'))
    await using server = await permitServer({ permits: issued, registry, links: [], connectionMs: 20 })
    using call = server.open('one')
    await assert.rejects(
      async () => {
        for (;;) await call.take(connectionTo(1))
      },
      { message: /hold the permit of a connection for at most 0\.02 seconds/ },
    )
    await registry.close()
  })

  test('a link sends nothing if its gateway gives no permits', async () => {
    const server = new Server()
    const port = await new Promise<number>((resolve) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
    )
    const manifest = { id: 'a', name: 'a', vendor: 'a', version: '1.0.0', sends }
    const source = openPermitSource({ manifest, registry: `127.0.0.1:${port}` })
    using permits = source.forCall({ signal: new AbortController().signal })
    const request = { address: '10.1.5.1', protocol: 'knock', operation: 'Knock', kind: 'datagram' as const }
    await assert.rejects(permits.take(request), { code: 'FAILED_PRECONDITION' })
    source.close()
    server.forceShutdown()
  })

  test('the end of a call closes the connections of its permits', async () => {
    await applyBudget({ perDevice: { connections: 1 } })
    const manifest = { id: 'a', name: 'a', vendor: 'a', version: '1.0.0', sends }
    const source = openPermitSource({ manifest, registry: `127.0.0.1:${gateway.registryPort}` })
    const request = { address: '10.1.6.1', protocol: 'knock', operation: 'Knock', kind: 'connection' as const }
    const call = () => source.forCall({ signal: new AbortController().signal })
    const first = call()
    await first.take(request)
    using second = call()
    const waiting = second.take(request)
    let isGranted = false
    void waiting.then(() => {
      isGranted = true
    })
    using other = call()
    await other.take({ ...request, address: '10.1.6.2' })
    assert.equal(isGranted, false, 'the device has one connection')
    first[Symbol.dispose]()
    await waiting
    source.close()
  })
})
