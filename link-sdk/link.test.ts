import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { linkServices, progressMetadataKey, wireMethod } from '@millwright/api/link-protocol.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { DiscoverResponse } from '@millwright/api/proto/generated/discover_pb.js'
import { variantOf } from '@millwright/api/variant.ts'
import { callStream, callUnary } from './call.ts'
import { type DiscoverCall, type DiscoveryResult, defineLink } from './define-link.ts'
import { LinkError } from './link-error.ts'
import type { Manifest } from './manifest.ts'
import { type RunningLink, startLink } from './start-link.ts'
import { askForeign, foreignClient } from './testing/foreign-client.ts'

const manifest: Manifest = {
  id: 'test.links.ovens',
  name: 'Ovens',
  vendor: 'Test',
  version: '1.2.3-rc.1',
  options: [{ key: 'mode', type: 'text', default: 'plain', description: 'What to do' }],
}

/** The counters of the test link's generator: how often it ended, was aborted, and yielded. */
const seen = { ended: 0, aborted: 0, yielded: 0 }

async function* discover({ options, signal, targets, progress }: DiscoverCall): AsyncGenerator<DiscoveryResult> {
  try {
    if (options.mode === 'forever') {
      for (;;) {
        yield { asset: { name: 'again', description: 'x'.repeat(5_000) } }
        seen.yielded += 1
      }
    }
    if (options.mode === 'progress') for (const percent of [-5, 0.4, 30.9, 30.1, Number.NaN, 250]) progress(percent)
    if (options.mode === 'wait') {
      yield { asset: { name: 'first' } }
      await once(signal, 'abort')
      seen.aborted += 1
      return
    }
    yield { asset: { name: 'Oven', is_hot: true, slots: [{ id: 'a' }] }, address: { ip: '10.0.0.1' } }
    if (options.mode === 'break') throw new Error('the cable is cut')
    if (options.mode === 'refuse') throw new LinkError('FAILED_PRECONDITION', 'There is no network.')
    yield { asset: { 'not/possible': 'x' }, address: { ip: '10.0.0.2' } }
    yield { error: new LinkError('UNAUTHENTICATED', 'Who are you?'), address: { ip: '10.0.0.3' } }
    if (options.mode === 'targets') yield { asset: { name: targets.map((t) => t.credentials[0]?.username).join() } }
  } finally {
    seen.ended += 1
  }
}

const link = defineLink({
  manifest,
  discover,
  properties: ({ device, keys }) => {
    if (device.address.ip !== '10.0.0.1') throw new LinkError('UNAVAILABLE', 'It does not answer.')
    const all = {
      name: 'Oven',
      is_hot: true,
      heat: new LinkError('DATA_LOSS', 'The sensor is broken.'),
      door: undefined,
    }
    return keys.length === 0 ? all : Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key)))
  },
})

const { discoverDevices } = linkServices.discover.method
const { getPropertyValues, getSupportedProperties } = linkServices.deviceInfo.method
const at = (ip: string) => ({
  target: { case: 'connectionParameterSet' as const, value: { parameterJson: JSON.stringify({ ip }) } },
})

test('startLink logs the notices of a link with a mark, and continues when they cannot be determined', async (t) => {
  const lines: string[] = []
  t.mock.method(process.stderr, 'write', (line: string) => lines.push(line) > 0)
  const advice = 'ICMP is not allowed. Run: sudo setcap cap_net_raw+ep node'
  const failing = () => Promise.reject(new Error('no such program'))
  for (const notices of [() => [advice], failing]) {
    await using _ = await startLink({ ...link, notices }, { logLevel: 'warn' })
  }
  const entries = lines.map((line) => JSON.parse(line) as { message: string; notice?: boolean })
  assert.deepEqual(
    entries.map(({ message, notice }) => [message, notice]),
    [
      [advice, true],
      ['The limits of the link on this machine could not be determined.', undefined],
    ],
  )
})

describe('a link', () => {
  let running: RunningLink
  let client: Client

  before(async () => {
    running = await startLink(link, { logLevel: 'silent', vendors: ['millwright', 'siemens'] })
    client = new Client(running.endpoint, credentials.createInsecure())
  })
  after(async () => {
    client.close()
    await running.stop()
  })

  const discovery = (mode: string, request = {}) =>
    callStream(client, {
      method: wireMethod(discoverDevices),
      request: { ...request, options: [{ key: 'mode', value: variantOf(mode) }] },
      withinMs: 120_000,
    })
  const all = async (mode: string, request = {}) => {
    const messages = await Array.fromAsync(discovery(mode, request))
    return { devices: messages.flatMap((m) => m.devices), errors: messages.flatMap((m) => m.errors) }
  }
  const failure = (mode: string) =>
    all(mode).then(
      () => assert.fail('it did not fail'),
      ({ code, details }: ServiceError) => [code, details],
    )

  test('sends devices, and an error for each device that could not be read or sent', async () => {
    const { devices, errors } = await all('plain')
    assert.equal(devices.length, 1)
    assert.equal(devices[0]?.connectionParameterSet?.parameterJson, '{"ip":"10.0.0.1"}')
    assert.deepEqual(
      errors.map(({ resultCode, source }) => [
        resultCode,
        source.case === 'device' && source.value.target.case === 'connectionParameterSet'
          ? source.value.target.value.parameterJson
          : undefined,
      ]),
      [
        [Code.INTERNAL, '{"ip":"10.0.0.2"}'],
        [Code.UNAUTHENTICATED, '{"ip":"10.0.0.3"}'],
      ],
    )
    const ageMs = Date.now() - Number((devices[0]?.timestamp ?? 0n) / 10_000n - 11_644_473_600_000n)
    assert.ok(ageMs >= 0 && ageMs < 60_000)
  })

  test('sends the devices that it found before a failure, and returns the reason', async () => {
    const stream = discovery('break')
    const first = await once(stream, 'data')
    assert.equal(first[0].devices.length, 1)
    const [error] = await once(stream, 'error')
    assert.deepEqual([error.code, error.details], [status.INTERNAL, 'The link failed: the cable is cut'])
    assert.deepEqual(await failure('refuse'), [status.FAILED_PRECONDITION, 'There is no network.'])
  })

  test('sends progress only to callers that request it', async () => {
    const progressFor = async (metadata: Metadata) => {
      const { path, requestSerialize, responseDeserialize } = wireMethod(discoverDevices)
      const request = { options: [{ key: 'mode', value: variantOf('progress') }] }
      const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata)
      const messages: DiscoverResponse[] = await Array.fromAsync(stream)
      assert.equal(messages.flatMap(({ devices }) => devices).length, 1)
      return messages.flatMap(({ progress }) => progress || [])
    }
    assert.deepEqual(await progressFor(Metadata.fromHttp2Headers({ [progressMetadataKey]: '1' })), [1, 30, 100])
    assert.deepEqual(await progressFor(new Metadata()), [])
  })

  test('stops a canceled discovery, and accepts the next one', async () => {
    const before = seen.aborted
    const stream = discovery('wait')
    await once(stream, 'data')
    assert.deepEqual(await failure('plain'), [
      status.RESOURCE_EXHAUSTED,
      'A discovery is running. Retry when it has ended.',
    ])
    stream.cancel()
    const [error] = await once(stream, 'error')
    assert.equal(error.code, status.CANCELLED)
    await eventually(() => all('plain'))
    assert.equal(seen.aborted, before + 1)
  })

  test('applies back-pressure from the gateway to the discovery', async () => {
    const before = { ...seen }
    const stream = discovery('forever')
    await once(stream, 'data')
    stream.pause()
    await eventually(async () => {
      const yielded = seen.yielded
      await new Promise((resolve) => setTimeout(resolve, 300))
      assert.equal(seen.yielded, yielded)
    })
    assert.ok(seen.yielded - before.yielded < 20_000, `${seen.yielded} devices were made for nobody`)
    stream.on('error', () => undefined)
    stream.cancel()
    await eventually(async () => assert.ok(seen.ended > before.ended))
  })

  test('passes targets with their credentials to the discovery of the link', async () => {
    const credential = { credentials: '{"username":"u","password":"p"}' }
    const target = [{ target: { case: 'connectionParameterSet', value: { credentials: [credential] } } }]
    const { devices } = await all('targets', { target })
    assert.deepEqual(devices[1]?.identifiers[0]?.value, { case: 'text', value: 'u' })
  })

  test('returns one result for each requested property key, in order', async () => {
    const ask = (ip: string, keys: string[]) =>
      callUnary(client, {
        method: wireMethod(getPropertyValues),
        request: { device: at(ip), keys },
        withinMs: 120_000,
      })
    const { propertyResults } = await ask('10.0.0.1', ['door', 'name', 'heat', 'wings', 'name'])
    assert.deepEqual(
      propertyResults.map(({ result }) => [result.value?.key, result.case === 'error' ? result.value.resultCode : 0]),
      [
        ['door', Code.FAILED_PRECONDITION],
        ['name', 0],
        ['heat', Code.DATA_LOSS],
        ['wings', Code.INVALID_ARGUMENT],
        ['name', 0],
      ],
    )
    const everything = await ask('10.0.0.1', [])
    assert.deepEqual(
      everything.propertyResults.map(({ result }) => result.value?.key),
      ['heat', 'is_hot', 'name'],
    )
    await assert.rejects(ask('10.0.0.9', []), { code: status.UNAVAILABLE })
    const { properties } = await callUnary(client, {
      method: wireMethod(getSupportedProperties),
      request: { device: at('10.0.0.1') },
      withinMs: 120_000,
    })
    assert.deepEqual(
      properties.map(({ key }) => key),
      ['name', 'is_hot', 'heat', 'door'],
    )
  })

  for (const vendor of ['millwright', 'siemens']) {
    test(`serves a client of another library with the prefix ${vendor}`, async () => {
      const info = foreignClient(vendor, 'connectivitysuite.drvinfo.v1.DriverInfoApi', running.endpoint)
      const { version } = await askForeign(info, 'GetVersionInfo', {})
      assert.deepEqual(version, {
        major: 1,
        minor: 2,
        patch: 3,
        suffix: '-rc.1',
        vendor_name: 'Test',
        product_name: 'Ovens',
      })
      info.close()

      const devices = foreignClient(vendor, 'industrialassethub.discover.v1.DeviceDiscoverApi', running.endpoint)
      const { filter_options } = await askForeign(devices, 'GetFilterOptions', {})
      assert.deepEqual(filter_options, [
        {
          key: 'mode',
          datatype: 'VT_STRING',
          defaultValue: { text: 'plain', value: 'text' },
          description: 'What to do',
        },
      ])
      const [first] = await Array.fromAsync<Record<string, { identifiers: object[] }[]>>(
        devices.DiscoverDevices?.({ options: [{ key: 'mode', value: { raw_data: Buffer.from('plain') } }] }),
      )
      const uri = (path: string) => [
        { type: 'URI', value: `https://industrial-assets.io/schemas/iah/base-schema/released/v1/Asset#${path}` },
      ]
      assert.deepEqual(first?.devices?.[0]?.identifiers, [
        { text: 'Oven', value: 'text', classifiers: uri('name') },
        { text: 'true', value: 'text', classifiers: uri('is_hot') },
        {
          children: { value: [{ text: 'a', value: 'text', classifiers: uri('slots/id') }] },
          value: 'children',
          classifiers: uri('slots'),
        },
      ])
      devices.close()
    })
  }
})

test('a link gets the folder of its settings in every call', async () => {
  const homes: (string | undefined)[] = []
  const storing = defineLink({
    manifest,
    discover: ({ home }) => {
      homes.push(home)
      return []
    },
    properties: ({ home }) => {
      homes.push(home)
      return { name: 'Oven' }
    },
  })
  await using running = await startLink(storing, { logLevel: 'silent', home: '/srv/ovens' })
  const client = new Client(running.endpoint, credentials.createInsecure())
  const withinMs = 120_000
  const request = { device: at('10.0.0.1') }
  await Array.fromAsync(callStream(client, { method: wireMethod(discoverDevices), request: {}, withinMs }))
  await callUnary(client, { method: wireMethod(getPropertyValues), request, withinMs })
  const target = at('10.0.0.1')
  const { getIdentifiers } = linkServices.identifiers.method
  await callUnary(client, { method: wireMethod(getIdentifiers), request: { target }, withinMs })
  client.close()
  assert.deepEqual(homes, ['/srv/ovens', '/srv/ovens', '/srv/ovens'])
})

async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const givenUpAt = performance.now() + 120_000
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > givenUpAt) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
