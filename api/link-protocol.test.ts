import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  artefactTransferVendor,
  interfaceName,
  linkServices,
  parseInterfaceName,
  ticksOf,
  timeOfTicks,
  wireMethod,
  wireService,
} from './link-protocol.ts'

test('parses the service and the vendor from an interface name', () => {
  for (const [service, description] of Object.entries(linkServices)) {
    for (const vendor of ['millwright', 'siemens', 'a_b']) {
      assert.deepEqual(parseInterfaceName(interfaceName(description, vendor)), { service, vendor })
    }
  }
  assert.equal(interfaceName(linkServices.registry, 'siemens'), 'siemens.connectivitysuite.registry.v1')
  assert.deepEqual(parseInterfaceName('factory_x.artefact_update.v1'), {
    service: 'artefactTransfer',
    vendor: artefactTransferVendor,
  })
  for (const unknown of [
    '',
    'registry.v1',
    'connectivitysuite.registry.v1',
    '.connectivitysuite.registry.v1',
    'iah-discover',
  ])
    assert.equal(parseInterfaceName(unknown), undefined)
})

test('keeps the interface names that gateways of version 0.3.10 and later use', () => {
  const names = Object.values(linkServices).map((service) => interfaceName(service, 'v'))
  const promised = [
    'v.commondevicemanagement.devicediscovery.v1',
    'v.commondevicemanagement.firmwareupdateApi.v1',
    'v.connectivitysuite.registry.v1',
    'v.connectivitysuite.alarmsevents.v1',
    'v.connectivitysuite.drvinfo.v1',
    'v.connectivitysuite.driverevent.v1',
  ]
  assert.deepEqual(
    promised.filter((name) => !names.includes(name)),
    [],
  )
})

test('builds the gRPC path of a method with the vendor prefix, and keeps its streaming directions', () => {
  const { discoverDevices } = linkServices.discover.method
  const method = wireMethod(discoverDevices, 'siemens.industrialassethub.discover.v1')
  assert.equal(method.path, '/siemens.industrialassethub.discover.v1.DeviceDiscoverApi/DiscoverDevices')
  assert.deepEqual([method.requestStream, method.responseStream], [false, true])
  const { prepareUpdate, cancelUpdate } = wireService(linkServices.artefactUpdate)
  assert.deepEqual([prepareUpdate.requestStream, prepareUpdate.responseStream], [true, true])
  assert.deepEqual([cancelUpdate.requestStream, cancelUpdate.responseStream], [false, true])
  assert.equal(cancelUpdate.path, '/millwright.industrialassethub.artefact_update.v1.ArtefactUpdateApi/CancelUpdate')
})

test('converts dates to ticks of 100 nanoseconds since 1601 and back', () => {
  assert.equal(ticksOf(new Date(0)), 116_444_736_000_000_000n)
  assert.equal(timeOfTicks(19_347_439_483_904n).toISOString().slice(0, 10), '1601-01-23')
  const now = new Date()
  assert.deepEqual(timeOfTicks(ticksOf(now)), now)
})
