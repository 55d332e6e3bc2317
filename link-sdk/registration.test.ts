import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js'
import { interfaceName, linkServices, wireService } from '@millwright/api/link-protocol.ts'
import type { RegisterServiceRequest, ServiceInfo } from '@millwright/api/proto/generated/registry_pb.js'
import { checkLink } from './conformance/suite.ts'
import { defineLink } from './define-link.ts'
import { pauseMs } from './registration.ts'
import { startLink } from './start-link.ts'

const link = defineLink({
  manifest: { id: 'test.links.none', name: 'None', vendor: 'Test', version: '1.0.0' },
  discover: () => [{ asset: { asset_identifiers: [{ mac_address: '02:00:00:00:00:01' }] } }],
})

type RegisterRequest = RegisterServiceRequest
type Done = sendUnaryData<object>

/** Starts a registry that records the requests it receives. */
async function openRegistry({ vendor = 'millwright', port = 0, refusals = 0 } = {}) {
  const heard = new EventEmitter()
  const registrations = new Map<string, ServiceInfo>()
  let left = refusals
  const server = new Server()
  server.addService(wireService(linkServices.registry, interfaceName(linkServices.registry, vendor)), {
    registerService: ({ request: { info } }: ServerUnaryCall<RegisterRequest, object>, done: Done) => {
      left -= 1
      if (left >= 0 || info === undefined) return done({ code: status.UNAVAILABLE, details: 'later' })
      registrations.set(info.appInstanceId, info)
      heard.emit('registered', info)
      done(null, { expireTime: 900 })
    },
    unregisterService: ({ request: { info } }: ServerUnaryCall<RegisterRequest, object>, done: Done) => {
      registrations.delete(info?.appInstanceId ?? '')
      heard.emit('unregistered', info)
      done(null, {})
    },
    queryRegisteredServices: (_call: unknown, done: Done) => done(null, { infos: [...registrations.values()] }),
  })
  const bound = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, number) =>
      error === null ? resolve(number) : reject(error),
    ),
  )
  return {
    heard,
    known: registrations,
    address: `127.0.0.1:${bound}`,
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  }
}

test('a link registers with all its details, and unregisters when it stops', async () => {
  await using registry = await openRegistry({ vendor: 'siemens' })
  const registered = once(registry.heard, 'registered')
  const running = await startLink(link, {
    registry: registry.address,
    vendors: ['siemens', 'millwright'],
    advertisedHost: 'links.example',
    advertisedPort: 8081,
    instance: 'none-2',
    logLevel: 'silent',
  })
  const [info]: ServiceInfo[] = await registered
  assert.deepEqual(info?.grpcIp, { case: 'dnsDomainname', value: 'links.example' })
  assert.equal(info?.grpcIpPortNumber, 8081)
  assert.equal(info?.appInstanceId, 'none-2')
  assert.deepEqual(info?.driverSchemaUris, ['test.links.none'])
  assert.deepEqual(info?.interfaces, [
    'siemens.connectivitysuite.drvinfo.v1',
    'siemens.industrialassethub.discover.v1',
    'millwright.connectivitysuite.drvinfo.v1',
    'millwright.industrialassethub.discover.v1',
  ])
  assert.deepEqual(info?.appTypes, info?.interfaces)

  const unregistered = once(registry.heard, 'unregistered')
  await running.stop()
  const [gone]: ServiceInfo[] = await unregistered
  assert.equal(gone?.appInstanceId, 'none-2')
  assert.equal(registry.known.size, 0)
})

test('a link retries a rejected registration, so that the conformance suite finds the link', async () => {
  await using registry = await openRegistry({ refusals: 1 })
  const registered = once(registry.heard, 'registered')
  await using running = await startLink(link, { registry: registry.address, logLevel: 'silent' })
  await registered
  const results = await Array.fromAsync(
    checkLink({ endpoint: running.endpoint, registry: registry.address, withinMs: 120_000 }),
  )
  assert.equal(results.at(-1)?.outcome, 'pass')
})

test('a link stops immediately when its registry is not reachable', async () => {
  const running = await startLink(link, { registry: '127.0.0.1:1', logLevel: 'silent' })
  await running.stop()
})

test('pauseMs returns half of the registration lifetime, and at most one minute', () => {
  assert.deepEqual([900, 60, 10, 0].map(pauseMs), [60_000, 30_000, 5_000, 1_000])
})
