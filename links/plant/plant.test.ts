import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import { readCredential } from '@millwright/link-sdk/credential.ts'
import type { DiscoverCall, DiscoveryResult, Target } from '@millwright/link-sdk/define-link.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { discover } from './discover.ts'
import { createFirmware } from './firmware.ts'
import { link } from './link.ts'
import { manifest } from './manifest.ts'
import { plantOf } from './options.ts'
import { properties } from './properties.ts'
import { deviceAt, deviceOf } from './simulator.ts'

const defaults = defaultOptionsOf(manifest)
const permits = unlimitedPermits()
const silent = { debug() {}, info() {}, warn() {}, error() {} }

type ScanOptions = {
  options?: DiscoverCall['options']
  targets?: Target[]
  range?: string
  signal?: AbortSignal
  progress?: DiscoverCall['progress']
}

function look({ options, targets = [], range, ...rest }: ScanOptions): AsyncGenerator<DiscoveryResult> {
  const { signal = new AbortController().signal, progress = () => undefined } = rest
  const filters = range === undefined ? [] : [{ key: 'ip_range', operator: 'EQUAL' as const, value: range }]
  return discover({ filters, options: { ...defaults, ...options }, targets, progress, signal, permits, log: silent })
}
const resultsOf = (options: ScanOptions) => Array.fromAsync(look(options))
const assets = (all: DiscoveryResult[]) => all.flatMap((one) => ('asset' in one ? [one.asset] : []))
const errors = (all: DiscoveryResult[]) => all.flatMap((one) => ('error' in one ? [one] : []))
const target = (more: Partial<Target>): Target => ({ address: {}, identifiers: [], credentials: [], ...more })
const credential = (fields: Record<string, string>) => readCredential({ schemaUri: '', text: JSON.stringify(fields) })
const user = credential({ username: 'user', password: 'user_password' })

test('the link of the simulated plant conforms to the protocol', async () => {
  const home = mkdtempSync(join(tmpdir(), 'plant-link-'))
  let running = await startLink(link, { logLevel: 'silent', home })
  const { endpoint, port } = running
  const { article } = deviceAt(plantOf(defaults), 0)
  const settings = { endpoint, credentials: user.text, withinMs: 120_000 }
  const results = await Array.fromAsync(
    checkLink({
      ...settings,
      request: { options: [{ key: 'update_restart_ms', value: variantOf(200) }] },
      update: {
        kind: 'firmware',
        content: createFirmware({ product: article, version: '99.1', payload: Buffer.alloc(300_000, 1) }),
      },
      async restart() {
        await running.stop()
        running = await startLink(link, { logLevel: 'silent', home, port })
      },
    }),
  ).finally(async () => {
    await running.stop()
    rmSync(home, { recursive: true })
  })
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  const aboutUpdates = results.filter(({ sentence }) => /update|transfer|activation|log file/.test(sentence))
  assert.deepEqual(
    aboutUpdates.filter(({ outcome }) => outcome !== 'pass'),
    [],
  )
  assert.ok(results.length > 10)
  const aboutProtected = results.filter(({ sentence }) => /protected device/.test(sentence))
  assert.deepEqual(
    aboutProtected.map(({ outcome }) => outcome),
    ['pass', 'pass', 'pass'],
  )
})

describe('a plant', () => {
  test('reports the progress of a scan relative to the devices in its range', async () => {
    for (const [range, devices] of [
      ['10.0.0.0/16', 600],
      ['10.0.1.0/25', 127],
      ['192.0.2.1', 0],
    ] as const) {
      const reported: number[] = []
      const progress = (percent: number) => reported.push(percent)
      const options = { size: 600, protected_percent: 0, changes_percent: 0 }
      const found = await resultsOf({ options, range, progress })
      assert.ok(Math.abs(found.length - devices) < 8, `${found.length} devices in ${range}`)
      assert.deepEqual(
        reported,
        reported.toSorted((one, other) => one - other),
      )
      if (devices > 0) assert.deepEqual([reported[0], Math.round((reported.at(-1) ?? 0) / 10)], [0, 10])
    }
  })

  test('finds the same devices in a range as a scan of the whole plant', async () => {
    const options = { size: 900, protected_percent: 0 }
    const all = assets(await resultsOf({ options }))
    const parts = ['10.0.0.0-10.0.0.9', '10.0.0.10-10.0.1.0', '10.0.1.1-10.0.2.255', '10.0.3.0-10.255.255.255']
    const inParts = await Promise.all(parts.map(async (range) => assets(await resultsOf({ options, range }))))
    const keyOf = (asset: unknown) => JSON.stringify(asset)
    assert.deepEqual(inParts.flat().map(keyOf).toSorted(), all.map(keyOf).toSorted())
  })

  test('generates the requested number of devices, and the same devices for the same seed', async () => {
    const options = { size: 200, protected_percent: 0 }
    const first = await resultsOf({ options })
    assert.equal(assets(first).length, 200)
    assert.deepEqual(await resultsOf({ options }), first)
    assert.notDeepEqual(await resultsOf({ options: { ...options, seed: 2 } }), first)
  })

  test('generates devices with unique identifiers, and modules with existing controllers', async () => {
    const all = assets(await resultsOf({ options: { size: 400, protected_percent: 0 } }))
    const identities = all.map(({ asset_identifiers }) => JSON.stringify(asset_identifiers))
    assert.equal(new Set(identities).size, 400)
    const modules = all.filter(({ asset_relations }) => asset_relations !== undefined)
    assert.equal(modules.length, 100)
    const macs = identities.join()
    for (const { asset_relations } of modules) {
      const mac = /"mac_address":"([^"]+)"/.exec(JSON.stringify(asset_relations))?.[1] ?? 'none'
      assert.ok(macs.includes(mac))
    }
  })

  test('adds devices, removes devices and changes firmware over time', async () => {
    const at = async (tick: number) =>
      new Map(
        assets(await resultsOf({ options: { size: 1_000, protected_percent: 0, changes_percent: 9, tick } })).map(
          (asset) => [JSON.stringify(asset.asset_identifiers), JSON.stringify(asset.software_components)],
        ),
      )
    const [before, later] = [await at(0), await at(3)]
    const added = [...later.keys()].filter((key) => !before.has(key))
    const gone = [...before.keys()].filter((key) => !later.has(key))
    const updated = [...later].filter(([key, firmware]) => before.has(key) && before.get(key) !== firmware)
    for (const changed of [added, gone, updated]) {
      assert.ok(changed.length > 10 && changed.length < 150, `${changed.length} of 1000 changed`)
    }
  })

  test('scans only the requested range', async () => {
    const all = await resultsOf({ options: { size: 600 }, range: '10.0.1.0/24' })
    assert.ok(all.length > 200 && all.length <= 256)
    assert.ok(all.every(({ address }) => String(address?.ip_address).startsWith('10.0.1.')))
    for (const wrong of ['x', '10.0.0.3-10.0.0.1'])
      await assert.rejects(resultsOf({ range: wrong }), { code: 'INVALID_ARGUMENT' })
  })

  test('finds protected devices only with correct credentials', async () => {
    const options = { size: 50, protected_percent: 100 }
    const unknown = errors(await resultsOf({ options }))
    assert.equal(unknown.length, 50)
    assert.ok(unknown.every(({ error }) => error.code === 'UNAUTHENTICATED'))
    assert.equal(assets(await resultsOf({ options, targets: [target({ credentials: [user] })] })).length, 50)
    const wrong = credential({ username: 'user', password: 'guess' })
    assert.equal(errors(await resultsOf({ options, targets: [target({ credentials: [wrong] })] })).length, 50)

    const address = unknown[7]?.address ?? {}
    const [one, ...others] = await resultsOf({ options, targets: [target({ address, credentials: [user] })] })
    assert.ok(one !== undefined && 'asset' in one)
    assert.deepEqual(others, [])
  })

  test('reports devices that do not respond when the option is set', async () => {
    const silentOnes = errors(await resultsOf({ options: { size: 20, silent_percent: 100 } }))
    assert.equal(silentOnes.length, 20)
    assert.ok(silentOnes.every(({ error }) => error.code === 'UNAVAILABLE'))
  })

  test('stops the scan when it is canceled', async () => {
    const canceling = new AbortController()
    const stream = look({ options: { size: 1_000_000, rate: 10 }, signal: canceling.signal })
    await stream.next()
    canceling.abort()
    await assert.rejects(async () => Array.fromAsync(stream), { name: 'AbortError' })
  })

  test('rejects an invalid plant size', async () => {
    for (const size of [0, 1_000_001])
      await assert.rejects(resultsOf({ options: { size } }), { code: 'INVALID_ARGUMENT' })
  })

  test('uses constant memory for any number of devices', async () => {
    let devices = 0
    for await (const _one of look({ options: { size: 1_000_000 }, range: '10.15.90.0-10.15.95.255' })) devices += 1
    assert.ok(devices > 500)
    const plant = { size: 1_000_000, seed: 1, tick: 0, changesPercent: 0, protectedPercent: 0, silentPercent: 0 }
    assert.deepEqual(deviceOf(deviceAt(plant, 999_999).serial), { seed: 1, index: 999_999 })
  })

  test('reads a device by address or by its identifiers', async () => {
    const [one] = await resultsOf({ options: { size: 1, protected_percent: 0 } })
    assert.ok(one !== undefined && 'asset' in one && one.address !== undefined)
    const byAddress = properties({ device: target({ address: one.address }) })
    const identifiers = one.asset.asset_identifiers as Target['identifiers']
    assert.deepEqual(properties({ device: target({ identifiers }) }), byAddress)
    assert.equal(byAddress.name, one.asset.name)
    assert.throws(() => properties({ device: target({ address: { device: 1 } }) }), { code: 'UNAVAILABLE' })
  })
})

describe('the six reference devices', () => {
  const options = { reference: true }

  test('reports four devices and two errors, like the reference link', async () => {
    const all = await resultsOf({ options })
    assert.deepEqual(
      assets(all).map(({ name }) => name),
      ['A0', 'A1', 'B0', 'B1'].map((name) => `Simulated Device ${name}`),
    )
    assert.deepEqual(
      errors(all).map(({ error, address }) => [error.number, address]),
      [
        [16, { alNic: 'eth0', ipAddress: '192.168.0.12', subDeviceID: -1 }],
        [16, { alNic: 'eth1', ipAddress: '192.168.1.12', subDeviceID: -1 }],
      ],
    )
    const some = await resultsOf({ options: { ...options, interface: 'eth0' }, range: '192.168.0.10-192.168.0.128' })
    assert.deepEqual([assets(some).length, errors(some).length], [2, 1])
  })

  test('reports the same addresses and serial numbers as the reference link', async () => {
    const all = assets(await resultsOf({ options, targets: [target({ credentials: [user] })] }))
    const plates = all.map((asset) => JSON.stringify(asset))
    const rows = [
      ['192.168.0.10', '00:16:3e:00:00:00', 'SN123450000'],
      ['192.168.0.11', '00:16:3e:00:01:00', 'SN123450001'],
      ['192.168.0.12', '00:16:3e:00:02:00', 'SN123450002'],
      ['192.168.1.10', '00:16:3e:01:00:00', 'SN123450100'],
      ['192.168.1.11', '00:16:3e:01:01:00', 'SN123450101'],
      ['192.168.1.12', '00:16:3e:01:02:00', 'SN123450102'],
    ]
    assert.equal(plates.length, rows.length)
    for (const [index, row] of rows.entries()) for (const text of row) assert.ok(plates[index]?.includes(text), text)
    assert.ok(plates.every((plate) => plate.includes('AN0123456789') && plate.includes('Siemens AG')))
  })

  test('returns sub-devices of reference devices, and requires credentials for protected devices', () => {
    const address = { alNic: 'eth1', ipAddress: '192.168.1.10', subDeviceID: 1 }
    const { name, asset_relations } = properties({ device: target({ address }) })
    assert.equal(name, 'Simulated Device B0-1')
    assert.match(JSON.stringify(asset_relations), /is_module_of.*object.*00:16:3e:01:00:00/)
    const identifiers = [{ asset_identifier_type: 'CustomIdentifier', name: 'serial_number', value: 'sn123450002' }]
    assert.throws(() => properties({ device: target({ identifiers }) }), { code: 'UNAUTHENTICATED' })
    const read = (address: Target['address']) =>
      properties({ device: target({ address, identifiers, credentials: [user] }) })
    assert.equal(read({ ip_address: '192.168.0.12' }).name, 'Simulated Device A2')
    assert.throws(() => read({}), { code: 'INVALID_ARGUMENT' })
    assert.throws(() => read({ ip_address: '192.168.0.13' }), { code: 'UNAVAILABLE' })
  })
})
