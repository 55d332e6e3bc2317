import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { defineLink } from '@millwright/link-sdk/define-link.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { type Caller, until } from './platform.ts'
import { type Ended, millwright, type Program } from './program.ts'
import { type Gateway, newGateway, over, startGateway } from './shop-floor.ts'
import { withinLimit } from './time-limit.ts'

/**
 * This file connects a device for tests of remote access: a gateway in its own process, and a scan that finds the device at
 * the loopback address, where the servers of the test listen.
 */

export const deviceName = 'Drive 12'
const linkId = 'example.links.one-device'

const link = defineLink({
  manifest: { id: linkId, name: 'One device', vendor: 'Example', version: '1.0.0', sends: [] },
  async *discover() {
    const mac = '00:1b:1b:00:00:12'
    yield {
      address: { ip_address: '127.0.0.1' },
      asset: {
        functional_object_type: 'Device',
        functional_object_schema_url: baseSchemaUrl,
        name: deviceName,
        asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: mac }],
        connection_points: [
          { connection_point_type: 'Ipv4Connectivity', id: 'ipv4', ipv4_address: '127.0.0.1' },
          { connection_point_type: 'EthernetPort', id: 'port', mac_address: mac },
        ],
      },
    }
  },
})

/** `groupId` is the access group of the asset. */
export type RemoteDevice = { gateway: Gateway; assetId: string; groupId: string }

type DeviceOptions = {
  home: string
  /** The name of the gateway. */
  name: string
  /** The ports of the device that the gateway allows. */
  ports: readonly number[]
  /** The environment of the gateway. */
  environment?: Record<string, string>
}

/** Starts a gateway whose local file allows the ports, finds the device, and waits until the gateway has a tunnel. */
export async function connectDevice(caller: Caller, options: DeviceOptions): Promise<RemoteDevice> {
  const { home, name, ports, environment = {} } = options
  mkdirSync(join(home, name))
  const remoteAccess = { isEnabled: true, loopback: true, allow: [{ network: '127.0.0.0/8', ports }] }
  writeFileSync(join(home, name, 'remote-access.json'), JSON.stringify({ remoteAccess }))
  const id = await newGateway(caller, { home, name })
  const gateway = await startGateway(name, { home, id, environment })
  const assetId = await findDevice(caller, gateway)
  await tunnelOpen(caller, id)
  const { data: groups } = await caller.authorization.listAccessGroups({ query: { name: 'default' } })
  return { gateway, assetId, groupId: groups[0]?.id ?? assert.fail('there is no default access group') }
}

/** Scans with the link, and returns the id of the asset of the device. */
async function findDevice(caller: Caller, gateway: Gateway): Promise<string> {
  const params = { gatewayId: gateway.id }
  await using _link = await startLink(link, { registry: `127.0.0.1:${gateway.registryPort}`, logLevel: 'error' })
  await until('the link is reachable', async () => {
    const { data: links } = await caller.discovery.listAssetLinks({ params })
    return links.some(({ assetLinkId, reachable }) => assetLinkId === linkId && reachable)
  })
  const { jobId } = await caller.discovery.createDiscovery({ params, body: { data: { assetLinkId: linkId } } })
  assert.equal((await over(caller, jobId, 120_000)).state, 'finished')
  const { data } = await caller.discovery.getReport({ params: { jobId } })
  assert.deepEqual(data.errors, [])
  return data.findings[0]?.assetId ?? assert.fail('the scan found no asset')
}

/** Sets a policy without approval and recording that allows the ports. */
export async function allowPorts(caller: Caller, groupId: string, ports: number[]): Promise<void> {
  await caller['remote-access'].putPolicy({
    params: { accessGroup: groupId },
    body: { data: { approval: 'none', recording: 'none', maxMinutes: 60, idleMinutes: 15, ports } },
  })
}

/** Waits until the platform holds a tunnel of the gateway. */
export async function tunnelOpen(caller: Caller, id: string): Promise<void> {
  await until('the gateway has a tunnel', async () => {
    const { data } = await caller['remote-access'].listGateways({})
    return data.some(({ gatewayId, isConnected }) => gatewayId === id && isConnected)
  })
}

/** `LocalPort` is a port that `millwright connect --listen` opened for a port of the device. */
export type LocalPort = { program: Program; port: number; sessionId: string; stop(): Promise<Ended> } & AsyncDisposable

type LocalPortOptions = { home: string; assetId: string; devicePort: number; args?: readonly string[] }

export async function openLocalPort({ home, assetId, devicePort, args = [] }: LocalPortOptions): Promise<LocalPort> {
  const program = millwright(['connect', assetId, String(devicePort), '--listen', '--json', ...args], { home })
  await until('the port is open', () => program.stdout() !== '' || program.child.exitCode !== null)
  assert.notEqual(program.stdout(), '', program.stderr())
  const { data } = JSON.parse(program.stdout())
  return {
    program,
    port: data.port,
    sessionId: data.session.id,
    stop() {
      program.child.kill('SIGINT')
      return program.ended
    },
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  }
}

/** The time limit for the transfer of all bytes of a test. */
export const exchangeMs = 300_000

/** Sends bytes to a local port with a half close. Returns the received bytes. */
export async function exchange(port: number, content: Buffer): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(content)
  return withinLimit('the bytes come back', buffer(socket), exchangeMs)
}

/** Compares bytes. The message contains the sizes and the first difference, instead of all bytes. */
export function assertEqualBytes(actual: Buffer | undefined, expected: Buffer): void {
  const first = expected.findIndex((byte, index) => byte !== actual?.[index])
  assert.deepEqual({ size: actual?.length, first }, { size: expected.length, first: -1 })
}
