import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { PermitIssuer } from './permit-issuer.ts'
import {
  defaultBudget,
  type PermitKind,
  type PermitRequest,
  type ScanBudget,
  type TrafficLimits,
} from './scan-budget.ts'

const fast: TrafficLimits = {
  datagramsPerSecond: 100_000,
  connectionsPerSecond: 100_000,
  requestsPerSecond: 100_000,
  connections: 1_000,
}
const budgetOf = (budget: {
  perDevice?: Partial<TrafficLimits>
  perGateway?: Partial<TrafficLimits>
  more?: Partial<ScanBudget>
}): ScanBudget => ({
  ...defaultBudget,
  ...budget.more,
  perDevice: { ...fast, ...budget.perDevice },
  perGateway: { ...fast, ...budget.perGateway },
})
const requestOf = (address: string, kind: PermitKind = 'datagram', protocol = 'test'): PermitRequest => ({
  address,
  protocol,
  operation: 'Read',
  kind,
})
const open = () => new AbortController().signal
const addressAt = (index: number) => `10.0.${Math.floor(index / 250)}.${index % 250}`
const turnOfEventLoop = () => new Promise((resolve) => setImmediate(resolve))

/** Returns whether a promise is settled after some turns of the event loop. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isDone = false
  void promise.catch(() => undefined).finally(() => (isDone = true))
  for (let turn = 0; turn < 20; turn += 1) await turnOfEventLoop()
  return isDone
}

/** Returns the largest number of times within any period of one second. */
function mostPerSecond(timesMs: readonly number[]): number {
  return Math.max(...timesMs.map((from) => timesMs.filter((ms) => ms >= from && ms < from + 1_000).length))
}

describe('rates', () => {
  test('one device gets at most its rate in any second, in equal intervals', async (t) => {
    // The times are those that the issuer reads from the clock. A clock that is read later, in the callback, also measures
    // how long the operating system stops a process of a busy machine.
    let readMs = 0
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => (readMs = now()))
    const issuer = new PermitIssuer(budgetOf({ perDevice: { datagramsPerSecond: 40 } }))
    const times: number[] = []
    const take = async () => {
      await issuer.take(requestOf('10.0.0.1'), { signal: open(), onGranted: () => times.push(readMs) })
    }
    await Promise.all(Array.from({ length: 48 }, take))
    assert.ok(mostPerSecond(times) <= 40, `${mostPerSecond(times)}`)
    const intervals = times.slice(1).map((ms, index) => ms - (times[index] ?? 0))
    assert.ok(Math.min(...intervals) >= 25, `${Math.min(...intervals)}`)
  })

  test('many devices together get at most the rate of the gateway in any second, also after a delay of the process', async () => {
    const issuer = new PermitIssuer(budgetOf({ perGateway: { datagramsPerSecond: 200 } }))
    const times: number[] = []
    const onGranted = () => {
      times.push(performance.now())
      const isMiddle = times.length === 60
      if (isMiddle) for (const untilMs = performance.now() + 300; performance.now() < untilMs; );
    }
    const all = Array.from({ length: 320 }, (_, index) =>
      issuer.take(requestOf(addressAt(index)), { signal: open(), onGranted }),
    )
    await Promise.all(all)
    assert.ok(mostPerSecond(times) <= 200, `${mostPerSecond(times)}`)
  })

  test('the rates of datagrams, requests and connections are independent, and a request over UDP counts as both', async () => {
    // The next permit of a kind comes after more than a minute.
    const limits = { datagramsPerSecond: 0.01, requestsPerSecond: 0.01, connectionsPerSecond: 0.01 }
    const waiting = new AbortController()
    const kinds: PermitKind[] = ['datagram', 'request', 'connection']
    const issuer = new PermitIssuer(budgetOf({ perDevice: limits }))
    await Promise.all(kinds.map((kind) => issuer.take(requestOf('10.0.0.1', kind), { signal: open() })))
    for (const kind of ['datagram_request', ...kinds] as const)
      assert.equal(await isSettled(issuer.take(requestOf('10.0.0.1', kind), waiting)), false, kind)

    const other = new PermitIssuer(budgetOf({ perDevice: limits }))
    await other.take(requestOf('10.0.0.1', 'datagram_request'), { signal: open() })
    for (const kind of ['datagram', 'request'] as const)
      assert.equal(await isSettled(other.take(requestOf('10.0.0.1', kind), waiting)), false, kind)
    assert.equal(await isSettled(other.take(requestOf('10.0.0.1', 'connection'), { signal: open() })), true)
    waiting.abort()
  })

  test('all groups together have the rate of one device', async () => {
    // The next permit of a device comes after more than a minute.
    const issuer = new PermitIssuer(budgetOf({ perDevice: { datagramsPerSecond: 0.01 } }))
    const waiting = new AbortController()
    await issuer.take(requestOf('224.0.0.251'), { signal: open() })
    for (const address of ['224.0.0.251', '239.255.255.250', '01:0e:cf:00:00:00'])
      assert.equal(await isSettled(issuer.take(requestOf(address), waiting)), false, address)
    assert.equal(await isSettled(issuer.take(requestOf('10.0.0.1'), { signal: open() })), true)
    waiting.abort()
  })

  test('packets that devices forward to other networks have the rate of their device and of the groups', async () => {
    const issuer = new PermitIssuer(budgetOf({ perDevice: { datagramsPerSecond: 0.01 } }))
    const waiting = new AbortController()
    const forwarded = (address: string) => ({ ...requestOf(address), forwarded: true })
    await issuer.take(forwarded('10.0.0.1'), { signal: open() })
    for (const request of [forwarded('10.0.0.2'), requestOf('10.0.0.1'), requestOf('224.0.0.251')])
      assert.equal(await isSettled(issuer.take(request, waiting)), false, request.address)
    assert.equal(await isSettled(issuer.take(requestOf('10.0.0.3'), { signal: open() })), true)
    waiting.abort()
  })

  test('a canceled request uses nothing of the rate of the gateway', async () => {
    const issuer = new PermitIssuer(budgetOf({ perGateway: { datagramsPerSecond: 10 } }))
    await issuer.take(requestOf('10.0.0.1'), { signal: open() })
    const controller = new AbortController()
    const waiting = Array.from({ length: 500 }, (_, index) =>
      issuer.take(requestOf(addressAt(index + 2)), { signal: controller.signal }),
    )
    await turnOfEventLoop()
    controller.abort()
    const settled = await Promise.allSettled(waiting)
    assert.ok(settled.filter(({ status }) => status === 'rejected').length > 490)
    const startedMs = performance.now()
    await issuer.take(requestOf('10.0.9.1'), { signal: open() })
    // If canceled requests counted, this request would wait for about 50 seconds.
    assert.ok(performance.now() - startedMs < 25_000)
  })
})

describe('connections', () => {
  const connect = (issuer: PermitIssuer, address: string, signal = open()) =>
    issuer.take(requestOf(address, 'connection'), { signal })

  test('a device and the gateway have at most their number of open connections', async () => {
    const issuer = new PermitIssuer(budgetOf({ perDevice: { connections: 2 }, perGateway: { connections: 3 } }))
    const first = await connect(issuer, '10.0.0.1')
    await connect(issuer, '10.0.0.1')
    const third = connect(issuer, '10.0.0.1')
    assert.equal(await isSettled(third), false, 'the device has two connections')
    await connect(issuer, '10.0.0.2')
    const fourth = connect(issuer, '10.0.0.3')
    assert.equal(await isSettled(fourth), false, 'the gateway has three connections')
    first[Symbol.dispose]()
    first[Symbol.dispose]()
    assert.equal(await isSettled(fourth), true)
    assert.equal(await isSettled(third), false, 'a permit that is disposed twice frees one connection')
    ;(await fourth)[Symbol.dispose]()
    assert.equal(await isSettled(third), true)
  })

  test('requests of an open connection continue while another connection waits for its end', async () => {
    const issuer = new PermitIssuer(budgetOf({ perDevice: { connections: 1 }, perGateway: { connections: 1 } }))
    const first = await connect(issuer, '10.0.0.1')
    const others = [connect(issuer, '10.0.0.1'), connect(issuer, '10.0.0.2')]
    for (let count = 0; count < 5; count += 1) await issuer.take(requestOf('10.0.0.1', 'request'), { signal: open() })
    first[Symbol.dispose]()
    await Promise.all(others.map((other) => other.then((permit) => permit[Symbol.dispose]())))
  })

  test('cancellation frees the connection and the place in the line, wherever the request waits', async () => {
    const issuer = new PermitIssuer(budgetOf({ perDevice: { connections: 1 }, perGateway: { connections: 1 } }))
    const first = await connect(issuer, '10.0.0.1')
    const controller = new AbortController()
    const addresses = ['10.0.0.1', '10.0.0.1', '10.0.0.2', '10.0.0.3']
    const waiting = addresses.map((address) => connect(issuer, address, controller.signal))
    await turnOfEventLoop()
    controller.abort()
    for (const one of waiting) await assert.rejects(one, { reason: 'canceled' })
    first[Symbol.dispose]()
    for (const address of addresses) (await connect(issuer, address))[Symbol.dispose]()
    await assert.rejects(connect(issuer, '10.0.0.1', controller.signal), { reason: 'canceled' })
  })

  test('no sequence of requests, cancellations and ends exceeds the limits or loses a connection', async () => {
    const step = fc.record({ device: fc.nat({ max: 3 }), action: fc.constantFrom('take', 'cancel', 'end') })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const issuer = new PermitIssuer(budgetOf({ perDevice: { connections: 2 }, perGateway: { connections: 3 } }))
        const held: { device: number; permit: Disposable }[] = []
        const waiting: { controller: AbortController; done: Promise<void> }[] = []
        for (const { device, action } of steps) {
          if (action === 'end') held.shift()?.permit[Symbol.dispose]()
          else if (action === 'cancel') waiting.pop()?.controller.abort()
          else {
            const controller = new AbortController()
            const done = connect(issuer, addressAt(device), controller.signal).then(
              (permit) => void held.push({ device, permit }),
              () => undefined,
            )
            waiting.push({ controller, done })
          }
          for (let turn = 0; turn < 3; turn += 1) await turnOfEventLoop()
          assert.ok(held.length <= 3)
          for (const one of [0, 1, 2, 3]) assert.ok(held.filter((entry) => entry.device === one).length <= 2)
        }
        for (const { controller } of waiting) controller.abort()
        await Promise.all(waiting.map(({ done }) => done))
        for (const { permit } of held) permit[Symbol.dispose]()
        const again = await Promise.all([0, 0, 1].map((device) => connect(issuer, addressAt(device))))
        assert.equal(again.length, 3)
      }),
      { numRuns: 60 },
    )
  })
})

describe('refusals', () => {
  const reasonOf = async (issuer: PermitIssuer, request: PermitRequest) =>
    issuer.take(request, { signal: open() }).then(
      () => undefined,
      (error: { reason?: string }) => error.reason,
    )

  test('excluded addresses, other protocols and everything that is not an IPv4 address are refused', async () => {
    const more = { excludedAddresses: ['10.0.0.7', '10.0.8.0/24', '10.1.0.1-10.1.0.9'], protocols: ['test'] }
    const issuer = new PermitIssuer(budgetOf({ more }))
    for (const address of ['10.0.0.7', '10.0.8.0', '10.0.8.255', '10.1.0.9'])
      assert.equal(await reasonOf(issuer, requestOf(address)), 'excluded', address)
    for (const address of ['plc.example', '::ffff:10.0.0.7', '010.0.0.7', ' 10.0.0.8', '10.0.0.256', ''])
      assert.equal(await reasonOf(issuer, requestOf(address)), 'excluded', address)
    for (const address of ['10.0.0.6', '10.0.0.8', '10.0.9.0', '10.1.0.10'])
      assert.equal(await reasonOf(issuer, requestOf(address)), undefined, address)
    assert.equal(await reasonOf(issuer, requestOf('10.0.0.8', 'datagram', 'snmp')), 'protocol')
    assert.equal(issuer.devices, 4, 'refused addresses are not stored')
  })

  test('local addresses need the permission of the budget, and addresses of no device and no group are refused', async () => {
    const local = ['127.0.0.1', '127.255.255.255', '169.254.0.1', '169.254.255.254']
    const [refusing, allowing] = [
      new PermitIssuer(budgetOf({})),
      new PermitIssuer(budgetOf({ more: { localAddresses: true } })),
    ]
    for (const address of local) {
      assert.equal(await reasonOf(refusing, requestOf(address)), 'protocol', address)
      assert.equal(await reasonOf(allowing, requestOf(address)), undefined, address)
    }
    for (const address of ['0.0.0.0', '0.1.2.3', '240.0.0.1', '255.255.255.255'])
      assert.equal(await reasonOf(allowing, requestOf(address)), 'excluded', address)
    for (const address of [
      '126.255.255.255',
      '128.0.0.0',
      '169.253.255.255',
      '169.255.0.0',
      '1.0.0.0',
      '223.255.255.255',
    ])
      assert.equal(await reasonOf(refusing, requestOf(address)), undefined, address)
    const resolving = new PermitIssuer(budgetOf({}), { nameServers: ['127.0.0.53'] })
    assert.equal(await reasonOf(resolving, requestOf('127.0.0.53', 'datagram', 'dns')), undefined)
    assert.equal(await reasonOf(resolving, requestOf('127.0.0.53', 'datagram', 'snmp')), 'protocol')
    assert.equal(await reasonOf(resolving, requestOf('127.0.0.1', 'datagram', 'dns')), 'protocol')
  })

  test('groups get permits if no address is excluded or the budget allows them, and only in their exact form', async () => {
    const broadcasts = () => new Set(['10.0.3.255'])
    const issuerOf = (more: Partial<ScanBudget>) => new PermitIssuer(budgetOf({ more }), { broadcasts })
    const groups = ['224.0.0.251', '239.255.255.250', '10.0.3.255', '01:0e:cf:00:00:00', '01:80:c2:00:00:0e']
    const excludedAddresses = ['10.0.0.7']
    for (const address of groups) {
      assert.equal(await reasonOf(issuerOf({}), requestOf(address)), undefined, address)
      assert.equal(await reasonOf(issuerOf({ multicast: false }), requestOf(address)), 'excluded', address)
      assert.equal(await reasonOf(issuerOf({ excludedAddresses }), requestOf(address)), 'excluded', address)
      const both = issuerOf({ excludedAddresses, multicast: true })
      assert.equal(await reasonOf(both, requestOf(address)), undefined, address)
    }
    // The broadcast addresses of other networks belong to one device, as far as the gateway knows.
    assert.equal(await reasonOf(issuerOf({ multicast: false }), requestOf('10.0.4.255')), undefined)
    const inExcluded = issuerOf({ excludedAddresses: ['10.0.3.0/24', '239.0.0.0/8'], multicast: true })
    for (const address of ['10.0.3.255', '239.255.255.250'])
      assert.equal(await reasonOf(inExcluded, requestOf(address)), 'excluded', address)
    for (const address of [
      'ff:ff:ff:ff:ff:ff',
      '00:0e:cf:00:00:00',
      '01:0E:CF:00:00:00',
      '01-0e-cf-00-00-00',
      '01:0e:cf:00:00',
      ' 224.0.0.251',
      'ff02::fb',
    ])
      assert.equal(await reasonOf(issuerOf({ multicast: true }), requestOf(address)), 'excluded', address)
    await assert.rejects(issuerOf({ excludedAddresses }).take(requestOf('224.0.0.251'), { signal: open() }), {
      message: /reach all devices of the segment.*millwright gateway budget --multicast allow/,
    })
  })

  test('packets that a device forwards to other networks get permits under the conditions of groups', async () => {
    const forwarded = { ...requestOf('10.0.0.2'), forwarded: true }
    const issuerOf = (more: Partial<ScanBudget>) => new PermitIssuer(budgetOf({ more }))
    const excludedAddresses = ['10.0.0.7']
    assert.equal(await reasonOf(issuerOf({}), forwarded), undefined)
    assert.equal(await reasonOf(issuerOf({ excludedAddresses }), forwarded), 'excluded')
    assert.equal(await reasonOf(issuerOf({ multicast: false }), forwarded), 'excluded')
    assert.equal(await reasonOf(issuerOf({ excludedAddresses, multicast: true }), forwarded), undefined)
    assert.equal(await reasonOf(issuerOf({ excludedAddresses }), requestOf('10.0.0.2')), undefined)
    await assert.rejects(issuerOf({ excludedAddresses }).take(forwarded, { signal: open() }), {
      message: /Packets to 10\.0\.0\.2 reach all devices of other networks, also excluded ones/,
    })
  })

  test('a group is refused as soon as a change of the budget excludes an address', async () => {
    const issuer = new PermitIssuer(budgetOf({ perDevice: { datagramsPerSecond: 10 } }))
    await issuer.take(requestOf('224.0.0.251'), { signal: open() })
    const waiting = issuer.take(requestOf('224.0.0.251'), { signal: open() })
    issuer.changeBudget(budgetOf({ more: { excludedAddresses: ['10.0.0.7'] } }))
    await assert.rejects(waiting, { reason: 'excluded' })
  })

  test('an invalid excluded address is an error, because its device would not be protected', () => {
    assert.throws(() => new PermitIssuer(budgetOf({ more: { excludedAddresses: ['10.0.0.300'] } })), /10\.0\.0\.300/)
  })

  test('traffic outside the allowed hours is refused, also with a span over midnight', async (t) => {
    const table = [
      { hours: [{ from: '08:00', to: '12:00' }], allowed: ['08:00', '11:59'], refused: ['07:59', '12:00', '23:00'] },
      {
        hours: [{ from: '22:00', to: '04:00' }],
        allowed: ['22:00', '23:59', '00:00', '03:59'],
        refused: ['04:00', '21:59'],
      },
      { hours: [{ from: '20:00', to: '00:00' }], allowed: ['20:00', '23:59'], refused: ['00:00', '19:59'] },
      { hours: [{ from: '06:00', to: '06:00' }], allowed: ['06:00', '05:59', '18:00'], refused: [] },
      {
        hours: [
          { from: '01:00', to: '02:00' },
          { from: '12:00', to: '12:30' },
        ],
        allowed: ['01:30', '12:29'],
        refused: ['02:00', '12:30'],
      },
    ]
    t.mock.timers.enable({ apis: ['Date'] })
    const at = async (hours: ScanBudget['hours'], time: string) => {
      t.mock.timers.setTime(new Date(`2026-03-04T${time}:30`).getTime())
      return reasonOf(new PermitIssuer(budgetOf({ more: { hours: hours ?? [] } })), requestOf('10.0.0.1'))
    }
    for (const { hours, allowed, refused } of table) {
      for (const time of allowed) assert.equal(await at(hours, time), undefined, `${time} in ${JSON.stringify(hours)}`)
      for (const time of refused) assert.equal(await at(hours, time), 'hours', `${time} in ${JSON.stringify(hours)}`)
    }
  })

  test('a request that waits until the allowed hours have ended is refused', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] })
    t.mock.timers.setTime(new Date('2026-03-04T11:59:59').getTime())
    const more = { hours: [{ from: '08:00', to: '12:00' }] }
    const issuer = new PermitIssuer(budgetOf({ perDevice: { connections: 1 }, more }))
    const first = await issuer.take(requestOf('10.0.0.1', 'connection'), { signal: open() })
    const second = issuer.take(requestOf('10.0.0.1', 'connection'), { signal: open() })
    t.mock.timers.setTime(new Date('2026-03-04T12:00:00').getTime())
    first[Symbol.dispose]()
    await assert.rejects(second, { reason: 'hours' })
  })
})

test('another budget applies to waiting requests, and open connections still count', async () => {
  const issuer = new PermitIssuer(budgetOf({ perDevice: { connections: 1, requestsPerSecond: 1 } }))
  const take = (kind: PermitKind) => issuer.take(requestOf('10.0.0.1', kind), { signal: open() })
  await take('connection')
  const second = take('connection')
  assert.equal(await isSettled(second), false)
  issuer.changeBudget(budgetOf({ perDevice: { connections: 2 } }))
  assert.equal(await isSettled(second), true)
  assert.equal(await isSettled(take('connection')), false)
  issuer.changeBudget(budgetOf({ more: { excludedAddresses: ['10.0.0.1'] } }))
  await assert.rejects(take('request'), { reason: 'excluded' })
  assert.deepEqual(issuer.budget.excludedAddresses, ['10.0.0.1'])
})

test('the state of idle devices is removed', async () => {
  const issuer = new PermitIssuer(budgetOf({}))
  const first = await issuer.take(requestOf('10.9.0.1', 'connection'), { signal: open() })
  for (let index = 0; index < 5_000; index += 1) await issuer.take(requestOf(addressAt(index)), { signal: open() })
  assert.ok(issuer.devices <= 1_100, `${issuer.devices}`)
  first[Symbol.dispose]()
})
