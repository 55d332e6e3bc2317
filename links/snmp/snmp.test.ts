import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { assetsIn, errorsIn, silentLog } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { link } from './link.ts'
import { manifest } from './manifest.ts'
import { properties, supportedProperties } from './properties.ts'
import { pduTypes } from './simulator.ts'
import { interfaceValues, switchValues, systemValues } from './simulator-switch.ts'
import { credential, impatient, scan, startAgents, target } from './testing.ts'

const user = { name: 'mill', authProtocol: 'sha256', authPassword: 'auth-secret', privPassword: 'priv-secret' } as const
const userFields = {
  version: '3',
  user: 'mill',
  authProtocol: 'sha256',
  authPassword: 'auth-secret',
  privProtocol: 'aes128',
  privPassword: 'priv-secret',
}

const coreSwitch = switchValues({
  name: 'core-1',
  description:
    'Siemens, SIMATIC NET, SCALANCE XC208, 6GK5 208-0BA00-2AC2, HW: Version 3, FW: Version V04.03.00, SVPL1234567',
  objectId: '1.3.6.1.4.1.4329.6.1.2',
  location: 'Hall 3',
  contact: 'Maintenance',
  mac: '00:1B:1B:10:00:00',
  ip: '127.0.10.1',
  ports: 8,
  serial: 'VPL1234567',
  model: '6GK5 208-0BA00-2AC2',
  hardware: '3',
  software: 'V04.03.00',
  modules: [{ name: 'SFP 1', serial: 'SFP001', model: '6GK5 991-1AD00-8AA0', position: 1 }],
  neighbours: [{ port: 1, chassis: '00:1B:1B:20:00:00', portId: '00:1B:1B:20:00:01' }],
  learned: [
    { port: 1, mac: '00:1B:1B:20:00:00' },
    { port: 2, mac: '00:0E:8C:00:00:01' },
    { port: 3, mac: '00:0E:8C:00:00:02' },
    { port: 3, mac: '00:0E:8C:00:00:03' },
  ],
})

const cell = (name: string, mac: string) => ({
  ...systemValues({ name, objectId: '1.3.6.1.4.1.8691.7' }),
  ...interfaceValues([{ name: 'eth0', mac }]),
})

test('the SNMP link conforms to the protocol', async () => {
  await using plant = await startAgents(11, [
    { community: 'public', values: cell('open', '00:0E:8C:00:00:08') },
    { user, values: cell('locked', '00:0E:8C:00:00:09') },
  ])
  await using running = await startLink(link, { logLevel: 'silent' })
  const request = {
    filters: [{ key: 'ip_range', value: variantOf(plant.range) }],
    options: [
      { key: 'port', value: variantOf(String(plant.port)) },
      { key: 'timeout_ms', value: variantOf(impatient.timeout_ms) },
      { key: 'neighbours', value: variantOf(false) },
    ],
  }
  const settings = { endpoint: running.endpoint, credentials: JSON.stringify(userFields), request, withinMs: 120_000 }
  const results = await Array.fromAsync(checkLink(settings))
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  const aboutProtected = results.filter(({ sentence }) => /protected device/.test(sentence))
  assert.deepEqual(
    aboutProtected.map(({ outcome }) => outcome),
    ['pass', 'pass', 'pass'],
  )
})

describe('a scan', () => {
  test('reports manufacturer, product, versions, interfaces and neighbours of a switch', async () => {
    await using plant = await startAgents(10, [{ community: 'public', values: coreSwitch }])
    const [asset] = assetsIn(await Array.fromAsync(scan(plant.range, plant.port)))
    assert.ok(asset !== undefined)
    assert.equal(asset.name, 'core-1')
    assert.deepEqual(asset.asset_identifiers, [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Siemens',
        article_number: '6GK5 208-0BA00-2AC2',
        serial_number: 'VPL1234567',
      },
      { asset_identifier_type: 'MacIdentifier', mac_address: '00:1B:1B:10:00:00' },
    ])
    const product = { manufacturer: { name: 'Siemens' }, product_name: 'SCALANCE XC208', product_family: 'SIMATIC NET' }
    assert.deepEqual(JSON.parse(JSON.stringify(asset.product_instance_information)), {
      serial_number: 'VPL1234567',
      manufacturer_product: { ...product, product_id: '6GK5 208-0BA00-2AC2', product_version: '3' },
    })
    assert.match(JSON.stringify(asset.software_components), /"version":"V04.03.00"/)
    assert.match(JSON.stringify(asset.location), /"location_identifier":"Hall 3"/)
    const points = asset.connection_points as Record<string, unknown>[]
    assert.deepEqual(
      points.map(({ id }) => id),
      ['vlan1', ...Array.from({ length: 8 }, (_, index) => `port${index + 1}`), 'vlan1-ipv4-127.0.10.1'],
    )
    const related = (asset.asset_relations as Record<string, unknown>[]).map(({ predicate, related_asset: other }) => [
      predicate,
      [...JSON.stringify(other).matchAll(/"mac_address":"([^"]+)"/g)].map(([, mac]) => mac),
    ])
    assert.deepEqual(related, [
      ['is_connected_to', ['00:1B:1B:20:00:00', '00:1B:1B:20:00:01']],
      ['is_connected_to', ['00:0E:8C:00:00:01']],
    ])
  })

  test('reports modules of the ENTITY-MIB as assets that are modules of the device', async () => {
    await using plant = await startAgents(12, [{ community: 'public', values: coreSwitch }])
    const results = await Array.fromAsync(scan(plant.range, plant.port))
    const module = assetsIn(results)[1]
    assert.equal(module?.name, 'SFP 1')
    assert.deepEqual(module.asset_identifiers, [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Siemens',
        article_number: '6GK5 991-1AD00-8AA0',
        serial_number: 'SFP001',
      },
    ])
    const [relation] = module.asset_relations as Record<string, unknown>[]
    assert.equal(relation?.predicate, 'is_module_of')
    assert.deepEqual(relation.related_asset, { asset_identifiers: assetsIn(results)[0]?.asset_identifiers })
    assert.deepEqual(results[1]?.address, { ip_address: '127.0.12.1', port: plant.port, entity: 2 })
  })

  test('reads a device with version 1, and reports the same as with version 2c', async () => {
    await using plant = await startAgents(13, [{ community: 'public', values: coreSwitch }])
    const expected = await Array.fromAsync(scan(plant.range, plant.port))
    const before = plant.agents[0]?.requests.length
    const old = target({ credentials: [credential({ version: '1', community: 'public' })] })
    assert.deepEqual(await Array.fromAsync(scan(plant.range, plant.port, { targets: [old] })), expected)
    const requests = plant.agents[0]?.requests.slice(before) ?? []
    assert.ok(requests.every(({ version, pduType }) => version === 0 && pduType !== pduTypes.getBulk))
  })

  test('takes one permit for each datagram, and sends only the functions of its table', async () => {
    await using plant = await startAgents(14, [
      { community: 'public', values: coreSwitch },
      { user, values: coreSwitch },
      { values: {} },
    ])
    const permits = unlimitedPermits()
    const targets = [target({ credentials: [credential(userFields)] })]
    await Array.fromAsync(scan(plant.range, plant.port, { permits, targets, options: impatient }))
    const requests = plant.agents.flatMap((agent) => agent.requests)
    assert.equal(permits.taken.length, requests.length)
    const codes = new Map((manifest.sends ?? []).map(({ operation, code }) => [operation, Number(code)]))
    const sent = Map.groupBy(requests, ({ pduType }) => pduType)
    const allowed = Map.groupBy(permits.taken, ({ operation }) => codes.get(operation) ?? -1)
    assert.deepEqual(
      [...sent].map(([code, list]) => [code, list.length]).toSorted(),
      [...allowed].map(([code, list]) => [code, list.length]).toSorted(),
    )
    assert.ok(permits.taken.every(({ kind, protocol }) => kind === 'datagram_request' && protocol === 'snmp'))
    assert.ok(permits.taken.some(({ operation }) => operation === 'EngineDiscovery'))
  })

  test('yields nothing for addresses without an agent, and reports progress', async () => {
    await using plant = await startAgents(16, [{ values: {} }])
    const reported: number[] = []
    const progress = (percent: number) => reported.push(percent)
    assert.deepEqual(await Array.fromAsync(scan('127.0.16.2-127.0.16.5', plant.port, { progress })), [])
    assert.deepEqual(reported, [0, 25, 50, 75, 100])
  })

  test('skips excluded addresses, and ends when the budget does not allow the protocol', async () => {
    await using plant = await startAgents(17, [{ community: 'public', values: coreSwitch }])
    const refusing = (reason: 'excluded' | 'protocol') => ({
      take: async () => Promise.reject(new PermitRefusedError(reason, 'No permit.')),
    })
    assert.deepEqual(await Array.fromAsync(scan(plant.range, plant.port, { permits: refusing('excluded') })), [])
    await assert.rejects(Array.fromAsync(scan(plant.range, plant.port, { permits: refusing('protocol') })), {
      code: 'PERMISSION_DENIED',
    })
    assert.deepEqual(plant.agents[0]?.requests, [])
  })

  test('reports a device that nothing identifies', async () => {
    await using plant = await startAgents(18, [{ community: 'public', values: systemValues({ name: 'nameless' }) }])
    const [error] = errorsIn(await Array.fromAsync(scan(plant.range, plant.port)))
    assert.equal(error?.code, 'FAILED_PRECONDITION')
    assert.match(error.message, /127\.0\.18\.1 \(nameless\) reports neither a serial number .* nor a MAC address/)
  })

  test('sends nothing after it was canceled', async () => {
    await using plant = await startAgents(19, [{ values: {} }])
    const canceling = new AbortController()
    const running = Array.fromAsync(
      scan(plant.range, plant.port, { signal: canceling.signal, options: { timeout_ms: 30_000 } }),
    )
    while (plant.agents[0]?.requests.length !== 1) await new Promise(setImmediate)
    const canceledAt = performance.now()
    canceling.abort()
    await assert.rejects(running, { name: 'AbortError' })
    assert.ok(performance.now() - canceledAt < 15_000, 'it does not wait for the time limit')
    assert.equal(plant.agents[0].requests.length, 1)
  })
})

describe('credentials', () => {
  test('without credentials, a device that allows only version 3 is reported as protected', async () => {
    await using plant = await startAgents(20, [{ user, enterprise: 8691, values: coreSwitch }])
    const [result, ...others] = await Array.fromAsync(scan(plant.range, plant.port, { options: impatient }))
    assert.ok(result !== undefined && 'error' in result)
    assert.equal(result.error.code, 'UNAUTHENTICATED')
    assert.match(result.error.message, /^The Moxa device at 127\.0\.20\.1 has an SNMP agent of version 3/)
    assert.deepEqual(result.address, { ip_address: '127.0.20.1', port: plant.port })
    assert.deepEqual(others, [])
  })

  for (const authProtocol of ['md5', 'sha', 'sha256', 'sha512'] as const) {
    test(`version 3 with ${authProtocol} and AES reads the device`, async () => {
      await using plant = await startAgents(21, [{ user: { ...user, authProtocol }, values: coreSwitch }])
      const targets = [target({ credentials: [credential({ ...userFields, authProtocol })] })]
      const names = assetsIn(await Array.fromAsync(scan(plant.range, plant.port, { targets }))).map(({ name }) => name)
      assert.deepEqual(names, ['core-1', 'SFP 1'])
    })
  }

  const rejections = [
    ['an unknown user', { user: 'other' }, /does not know the user/],
    ['a wrong authentication password', { authPassword: 'other-secret' }, /rejects the authentication password/],
    ['a wrong privacy password', { privPassword: 'other-secret' }, /rejects the privacy password/],
    ['another authentication protocol', { authProtocol: 'sha' }, /rejects the authentication password or the auth/],
  ] as const
  const incomplete = [
    ['a missing password', { authPassword: '' }, /not complete: "authPassword" is missing/],
    ['a short password', { privPassword: 'short' }, /"privPassword" must have at least 8 characters/],
    ['an unknown protocol', { privProtocol: 'rot13' }, /"privProtocol" must be one of des, aes128/],
    ['an unknown version', { version: '4' }, /"version" must be 1, 2c or 3/],
  ] as const
  const cases = [
    ...rejections.map((one) => [...one, 'UNAUTHENTICATED'] as const),
    ...incomplete.map((one) => [...one, 'INVALID_ARGUMENT'] as const),
  ]
  for (const [what, change, text, code] of cases) {
    test(`${what} is reported as ${code}, without the secrets`, async () => {
      await using plant = await startAgents(22, [{ user, values: coreSwitch }])
      const fields = { ...userFields, ...change }
      const address = { ip_address: '127.0.22.1', port: plant.port }
      const targets = [target({ address, credentials: [credential(fields)] })]
      const [error, ...others] = errorsIn(await Array.fromAsync(scan('10.0.0.1', plant.port, { targets })))
      assert.equal(error?.code, code)
      assert.match(error.message, text)
      assert.doesNotMatch(error.message, /secret/)
      assert.deepEqual(others, [])
    })
  }

  test('credentials of the whole range are tried before the community public', async () => {
    await using plant = await startAgents(23, [
      { community: 'line-7', values: cell('one', '00:0E:8C:00:00:11') },
      { community: 'public', values: cell('two', '00:0E:8C:00:00:12') },
    ])
    const targets = [target({ credentials: [credential({ version: '2c', community: 'line-7' })] })]
    const results = await Array.fromAsync(scan(plant.range, plant.port, { targets, options: impatient }))
    const names = assetsIn(results).map(({ name }) => name)
    assert.deepEqual(names, ['one', 'two'])
  })

  test('a named device that does not answer is reported as UNAVAILABLE', async () => {
    await using plant = await startAgents(24, [{ values: {} }])
    const targets = [target({ address: { ip_address: '127.0.24.1', port: plant.port } })]
    const [error] = errorsIn(await Array.fromAsync(scan('10.0.0.1', plant.port, { targets, options: impatient })))
    assert.equal(error?.code, 'UNAVAILABLE')
    assert.match(error.message, /127\.0\.24\.1 does not answer to SNMP/)
  })
})

describe('properties', () => {
  const context = { keys: [], signal: new AbortController().signal, permits: unlimitedPermits(), log: silentLog }

  test('contain the asset, the uptime, the contact and the states of the interfaces', async () => {
    await using plant = await startAgents(25, [{ community: 'public', values: coreSwitch }])
    const address = { ip_address: '127.0.25.1', port: plant.port }
    const values = await properties({ ...context, device: target({ address }) })
    assert.equal(values.name, 'core-1')
    assert.equal(values.uptime_seconds, 1_234)
    assert.equal(values.contact, 'Maintenance')
    const [state] = values.interface_states as object[]
    assert.deepEqual(state, { name: 'vlan1', administrative_state: 'up', operational_state: 'up' })
    const supported = supportedProperties().map(({ key }) => key)
    assert.deepEqual(
      Object.keys(values).filter((key) => !supported.includes(key)),
      [],
    )
    const module = await properties({ ...context, device: target({ address: { ...address, entity: 2 } }) })
    assert.equal(module.name, 'SFP 1')
  })

  test('that do not depend on neighbours are read without LLDP and bridge tables', async () => {
    await using plant = await startAgents(28, [{ community: 'public', values: coreSwitch }])
    const device = target({ address: { ip_address: '127.0.28.1', port: plant.port } })
    const values = await properties({ ...context, keys: ['uptime_seconds'], device })
    assert.equal(values.uptime_seconds, 1_234)
    const lldp = Buffer.from('28c462', 'hex')
    assert.ok(plant.agents[0]?.requests.every(({ bytes }) => !bytes.includes(lldp)))
  })

  test('of a device that is named by its identifiers are read at its last address', async () => {
    await using plant = await startAgents(26, [{ community: 'public', values: cell('known', '00:0E:8C:00:00:21') }])
    const [asset] = assetsIn(await Array.fromAsync(scan(plant.range, plant.port)))
    const identifiers = asset?.asset_identifiers as { mac_address: string }[]
    assert.equal((await properties({ ...context, device: target({ identifiers }) })).name, 'known')
    const unknown = [{ asset_identifier_type: 'MacIdentifier', mac_address: '00:0E:8C:FF:FF:FF' }]
    await assert.rejects(properties({ ...context, device: target({ identifiers: unknown }) }), { code: 'UNAVAILABLE' })
  })

  test('are read with credentials only at the address that the call names', async () => {
    const values = cell('hostile', '00:0E:8C:00:00:29')
    await using plant = await startAgents(29, [
      { community: 'public', values },
      { community: 'line-9', values: coreSwitch },
    ])
    const [asset] = assetsIn(await Array.fromAsync(scan('127.0.29.1', plant.port)))
    const identifiers = asset?.asset_identifiers as { mac_address: string }[]
    const credentials = [credential({ version: '2c', community: 'line-9' })]
    const sent = () => plant.agents[0]?.requests.filter(({ bytes }) => bytes.includes('line-9')).length
    await assert.rejects(properties({ ...context, device: target({ identifiers, credentials }) }), {
      code: 'INVALID_ARGUMENT',
    })
    // The identifiers belong to the device at 127.0.29.1, but the credentials to 127.0.29.2.
    const address = { ip_address: '127.0.29.2', port: plant.port }
    assert.equal(
      (await properties({ ...context, device: target({ address, identifiers, credentials }) })).name,
      'core-1',
    )
    assert.equal(sent(), 0)
  })

  test('of a protected device require credentials', async () => {
    await using plant = await startAgents(27, [{ user, values: coreSwitch }])
    const address = { ip_address: '127.0.27.1', port: plant.port }
    const wrong = credential({ ...userFields, authPassword: 'other-secret' })
    const device = target({ address, credentials: [wrong] })
    await assert.rejects(properties({ ...context, device }), { code: 'UNAUTHENTICATED' })
    const values = await properties({ ...context, device: target({ address, credentials: [credential(userFields)] }) })
    assert.equal(values.name, 'core-1')
  })
})
