import { writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Clock } from '@millwright/gateway/clock.ts'
import { CloudConnection } from '@millwright/gateway/cloud-connection.ts'
import { enrolledIdentity } from '@millwright/gateway/identity/enrolment.ts'
import { ownKey } from '@millwright/gateway/identity/key.ts'
import { TokenSource } from '@millwright/gateway/identity/token.ts'
import { createLog } from '@millwright/gateway/log.ts'
import { PlatformConnector } from '@millwright/gateway/platform/platform-connector.ts'
import { fetchOver } from '@millwright/gateway/platform/platform-fetch.ts'
import { FoundAddresses } from '@millwright/gateway/remote-access/found-addresses.ts'
import { RemoteAccess } from '@millwright/gateway/remote-access/remote-access.ts'
import { cpuMicros } from './measurement.ts'
import { handleCommands } from './worker-process.ts'

/**
 * This file runs in the process of the gateways. It starts the remote access of gateways whose folders contain their
 * configuration. It also contains the device: its ports send, receive or return bytes.
 */

export type GatewaysCommand = { kind: 'start'; folder: string } | { kind: 'cpu' } | { kind: 'memory' }

/** The ports of the device. */
export type DevicePorts = { echo: number; source: number; sink: number }

const chunk = Buffer.alloc(64 * 1024, 'millwright ')

const ports: DevicePorts = {
  echo: await listen((socket) => socket.setNoDelay(true).pipe(socket)),
  source: await listen((socket) => {
    const send = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', send)
    send()
  }),
  sink: await listen((socket) => {
    // The device confirms each mebibyte, so that the sender knows what has arrived.
    let bytes = 0
    socket.on('data', ({ length }) => {
      const before = bytes
      bytes += length
      if (Math.floor(bytes / 2 ** 20) > Math.floor(before / 2 ** 20)) socket.write(Buffer.alloc(1))
    })
  }),
}

const started: RemoteAccess[] = []

handleCommands(async (command: GatewaysCommand): Promise<unknown> => {
  if (command.kind === 'cpu') return cpuMicros()
  if (command.kind === 'memory') return process.memoryUsage.rss() / 2 ** 20
  started.push(await startGateway(command.folder))
  return undefined
})
process.once('SIGTERM', async () => {
  await Promise.all(started.map((one) => one.stop()))
  process.exit(0)
})
process.send?.({ ready: ports })

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

async function startGateway(home: string): Promise<RemoteAccess> {
  const file = join(home, 'remote-access.json')
  const allow = [{ network: '127.0.0.1/32', ports: Object.values(ports) }]
  await writeFile(file, JSON.stringify({ remoteAccess: { isEnabled: true, loopback: true, allow } }))
  const log = createLog({ level: 'error' })
  const clock = new Clock()
  const key = await ownKey(join(home, 'gateway-key.pem'))
  const identity = await enrolledIdentity({ home, configFile: join(home, 'gateway-config.json'), key, clock })
  const platform = new PlatformConnector(identity)
  const { dispatcher } = platform
  const fetch = fetchOver(dispatcher)
  const tokens = new TokenSource({ identity, key, clock, log, fetch })
  const cloud = new CloudConnection({ baseUrl: identity.baseUrl, key, clock, tokens, dispatcher })
  const foundAddresses = await FoundAddresses.open({ file: join(home, 'found-addresses.json'), log })
  const access = await RemoteAccess.open({ file, cloud, foundAddresses, ports: [], platform, log })
  access.start()
  while (access.status.tunnel !== 'connected') await setTimeout(20)
  return access
}
