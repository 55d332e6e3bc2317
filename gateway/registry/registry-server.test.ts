import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client, credentials, Metadata, status } from '@grpc/grpc-js'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { createLog } from '../log.ts'
import { SetupError } from '../setup-error.ts'
import { askRegistry, temporaryFolder } from '../testing.ts'
import { endpointOf } from './registration.ts'
import { Registry } from './registry.ts'
import { RegistryServer } from './registry-server.ts'

const log = createLog({ level: 'silent' })
let now = 1_000_000_000
const file = join(temporaryFolder(), 'registry.json')
let registry: Registry
let server: RegistryServer

before(async () => {
  registry = await Registry.open({ file, log, now: () => now })
  server = await RegistryServer.start({ registry, host: '127.0.0.1', port: 0, vendors: ['millwright', 'siemens'] })
})
after(() => server.stop())

const info = (more: object = {}) => ({
  app_instance_id: 'cdm-device-class-driver-siemens.cdm.al.reference',
  dns_domainname: 'localhost',
  grpc_ip_port_number: 8081,
  app_types: ['siemens.connectivitysuite.drvinfo.v1', 'siemens.industrialassethub.discover.v1'],
  interfaces: ['siemens.connectivitysuite.drvinfo.v1', 'siemens.industrialassethub.discover.v1'],
  driver_schema_uris: ['siemens.cdm.al.reference'],
  ...more,
})

const ask = (vendor = 'siemens') => askRegistry(server.port, vendor)
const register = (more: object = {}, vendor = 'siemens') => ask(vendor)('RegisterService', { info: info(more) })
const query = async (filter?: object, vendor = 'siemens') =>
  (await ask(vendor)('QueryRegisteredServices', filter === undefined ? {} : { filter })).infos
const idsOf = (infos: { app_instance_id: string }[]) => infos.map((one) => one.app_instance_id).toSorted()
const refused = (code: number) => (error: { code: number }) => error.code === code

describe('the registry', () => {
  for (const vendor of ['millwright', 'siemens']) {
    test(`registers and lists links with the prefix ${vendor}`, async () => {
      assert.deepEqual(await register({ app_instance_id: vendor }, vendor), { expire_time: 900 })
      const [shown] = await query({ app_instance_ids: [vendor] }, 'siemens')
      const { app_types, interfaces, driver_schema_uris, dns_domainname, grpc_ip_port_number } = shown
      assert.deepEqual(
        { app_types, interfaces, driver_schema_uris, dns_domainname, grpc_ip_port_number },
        (({ app_instance_id: _, ...rest }) => rest)(info()),
      )
      assert.equal(registry.find(vendor)?.vendor, vendor)
      await ask(vendor)('UnregisterService', { info: info({ app_instance_id: vendor }) })
    })
  }

  test('rejects requests with an unknown vendor prefix', async () => {
    await assert.rejects(
      new Promise((resolve, reject) => {
        const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure())
        const bytes = (value: Buffer) => value
        const path = '/acme.connectivitysuite.registry.v1.RegistryApi/QueryRegisteredServices'
        client.makeUnaryRequest(path, bytes, bytes, Buffer.alloc(0), new Metadata(), (error, value) => {
          client.close()
          if (error === null) resolve(value)
          else reject(error)
        })
      }),
      refused(status.UNIMPLEMENTED),
    )
  })

  test('rejects invalid registrations of links', async () => {
    const wrong = refused(status.INVALID_ARGUMENT)
    await assert.rejects(ask()('RegisterService', {}), wrong)
    await assert.rejects(register({ app_instance_id: '  ' }), wrong)
    await assert.rejects(register({ dns_domainname: '' }), wrong)
    await assert.rejects(register({ grpc_ip_port_number: 0 }), wrong)
    await assert.rejects(register({ grpc_ip_port_number: 65_536 }), wrong)
    await assert.rejects(register({ app_instance_id: 'x'.repeat(257) }), wrong)
    await assert.rejects(ask()('UnregisterService', {}), wrong)
  })

  test('returns NOT_FOUND when an unknown link unregisters', async () => {
    await assert.rejects(
      ask()('UnregisterService', { info: info({ app_instance_id: 'nobody' }) }),
      refused(status.NOT_FOUND),
    )
  })

  test('accepts a registration without types and schema addresses', async () => {
    await register({ app_instance_id: 'bare', app_types: [], interfaces: [], driver_schema_uris: [] })
    assert.deepEqual(registry.find('bare')?.interfaces, [])
    registry.unregister('bare')
  })

  test('adds the interfaces of an application type to a registration, each once and in order', async () => {
    await register({ app_instance_id: 'kinds', app_types: ['iah-discover', 'cs-alarms-events'], interfaces: [] })
    assert.deepEqual(registry.find('kinds')?.interfaces, [
      'siemens.connectivitysuite.drvinfo.v1',
      'siemens.industrialassethub.discover.v1',
      'siemens.connectivitysuite.alarmsevents.v1',
    ])
    await register({
      app_instance_id: 'kinds',
      app_types: ['millwright.industrialassethub.discover.v1'],
      interfaces: [],
    })
    assert.deepEqual(registry.find('kinds')?.interfaces, ['millwright.industrialassethub.discover.v1'])
    registry.unregister('kinds')
  })

  test('replaces an incomplete registration when the link registers again', async () => {
    await register({ app_instance_id: 'early', app_types: [], interfaces: [] })
    await register({ app_instance_id: 'early' })
    assert.equal(registry.find('early')?.interfaces.length, 2)
    assert.equal((await query({ app_instance_ids: ['early'] })).length, 1)
    registry.unregister('early')
  })

  test('accepts an IPv6 address in the IPv4 field of a registration', async () => {
    await register({ app_instance_id: 'six', dns_domainname: undefined, ipv4_address: 'fe80::1' })
    const six = registry.find('six')
    assert.ok(six)
    assert.equal(endpointOf(six), '[fe80::1]:8081')
    assert.equal((await query({ app_instance_ids: ['six'] }))[0].ipv4_address, 'fe80::1')
    registry.unregister('six')
  })

  test('filters links by every property, with "or" between values and "and" between properties', async () => {
    await register({ app_instance_id: 'a', driver_schema_uris: ['one'], app_types: ['cs-driver'] })
    await register({ app_instance_id: 'b', driver_schema_uris: ['two'], app_types: ['iah-discover'] })
    assert.deepEqual(idsOf(await query()), ['a', 'b'])
    assert.deepEqual(idsOf(await query({ driver_schema_uris: ['one', 'two'] })), ['a', 'b'])
    assert.deepEqual(idsOf(await query({ driver_schema_uris: ['one', 'two'], app_types: ['cs-driver'] })), ['a'])
    assert.deepEqual(
      idsOf(await query({ interfaces: ['siemens.industrialassethub.discover.v1'], app_instance_ids: ['b'] })),
      ['b'],
    )
    assert.deepEqual(await query({ driver_schema_uris: ['three'] }), [])
    for (const id of ['a', 'b']) registry.unregister(id)
  })

  test('removes a link after 900 seconds without a refresh, and not earlier', async () => {
    await register({ app_instance_id: 'quiet' })
    await register({ app_instance_id: 'loud' })
    now += 800_000
    await register({ app_instance_id: 'loud' })
    now += 100_000
    assert.deepEqual(idsOf(await query()), ['loud', 'quiet'])
    now += 1
    assert.deepEqual(idsOf(await query()), ['loud'])
    await assert.rejects(
      ask()('UnregisterService', { info: info({ app_instance_id: 'quiet' }) }),
      refused(status.NOT_FOUND),
    )
    registry.unregister('loud')
  })

  test('registers a thousand links, each over its own connection', onlyInLongRuns, async () => {
    for (let hundred = 0; hundred < 10; hundred++) {
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => register({ app_instance_id: `link-${hundred * 100 + index}` })),
      )
    }
    assert.equal((await query()).length, 1_000)
    for (const { appInstanceId } of registry.list()) registry.unregister(appInstanceId)
  })
})

test('Registry restores its links after a restart, except expired ones', async () => {
  const path = join(temporaryFolder(), 'registry.json')
  let clock = 5_000_000
  const registration = {
    host: 'localhost',
    addressedBy: 'name' as const,
    port: 1,
    appTypes: [],
    interfaces: [],
    driverSchemaUris: [],
    vendor: 'siemens',
  }
  const first = await Registry.open({ file: path, log, now: () => clock })
  first.register({ appInstanceId: 'old', ...registration })
  clock += 500_000
  first.register({ appInstanceId: 'young', ...registration })
  await first.close()
  clock += 450_000
  const second = await Registry.open({ file: path, log, now: () => clock })
  assert.deepEqual(
    second.list().map(({ appInstanceId }) => appInstanceId),
    ['young'],
  )
  await second.close()
})

test('RegistryServer.start fails with one sentence when the port is in use, and prints nothing', async (t) => {
  const print = t.mock.method(console, 'error', () => undefined)
  const options = { registry, host: '127.0.0.1', port: server.port, vendors: ['millwright'] }
  await assert.rejects(RegistryServer.start(options), SetupError)
  assert.equal(print.mock.callCount(), 0)
})
