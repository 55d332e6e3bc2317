import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import type { StreamHeader } from '@millwright/api/tunnel/stream-header.ts'
import { Tunnel } from '@millwright/api/tunnel/tunnel.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import type { WebSocket } from 'ws'
import { startGateway } from '../gateway.ts'
import { createLog } from '../log.ts'
import { settingsFor, TestCloud, temporaryFolder, until } from '../testing.ts'
import { TestProxy } from './proxy-testing.ts'
import { remoteAccessFileName } from './remote-access-file.ts'
import { socketChannel } from './socket-channel.ts'
import { refusalOfOpening, sessionId, TestDevice } from './testing.ts'

/** `Tunnels` are the tunnels of a gateway at the side of the cloud. */
class Tunnels {
  readonly sockets: WebSocket[] = []
  readonly all: Tunnel[] = []

  constructor(cloud: TestCloud) {
    cloud.acceptTunnels((socket) => {
      this.sockets.push(socket)
      Tunnel.accept(socketChannel(socket), {
        find: (id) => this.all.find((tunnel) => tunnel.id === id),
        create: (id) => {
          const tunnel = new Tunnel({ role: 'cloud', id })
          this.all.push(tunnel)
          return tunnel
        },
      })
    })
  }

  async open(port: number, more: Partial<StreamHeader> = {}): Promise<TunnelStream> {
    const tunnel = await until(() => this.all.at(-1))
    const header = { kind: 'tcp', sessionId, assetId: sessionId, address: '127.0.0.1', port, ...more }
    return tunnel.open(header as StreamHeader)
  }
}

type GatewayOptions = { cloud: TestCloud; port?: number; home?: string; outgoingProxy?: string }

/** Starts a gateway that allows one port of this machine. */
async function gatewayFor({ cloud, port = 1, home = temporaryFolder(), outgoingProxy }: GatewayOptions) {
  const lines: string[] = []
  const allow = (settings: object) =>
    writeFileSync(join(home, remoteAccessFileName), JSON.stringify({ remoteAccess: settings }))
  allow({ loopback: true, allow: [{ network: '127.0.0.0/8', ports: [port] }] })
  cloud.configure(home)
  const log = createLog({ level: 'debug', to: { write: (line) => void lines.push(line) } })
  const gateway = await startGateway(settingsFor(home, { outgoingProxy }), { log })
  return { gateway, home, allow, lines, [Symbol.asyncDispose]: () => gateway.stop() }
}

const echo = (socket: Socket) => void socket.pipe(socket)

async function read(stream: TunnelStream, expected: string): Promise<void> {
  let text = ''
  while (text.length < expected.length) {
    const [bytes] = await once(stream, 'data')
    text += bytes
  }
  assert.equal(text, expected)
}

describe('the tunnel of a gateway', () => {
  test('opens with the token and a proof of the gateway, and carries streams to devices', async () => {
    await using cloud = await TestCloud.start()
    const tunnels = new Tunnels(cloud)
    await using device = await TestDevice.start(echo)
    await using started = await gatewayFor({ cloud, port: device.port })
    const stream = await tunnels.open(device.port)
    stream.write('hello')
    await read(stream, 'hello')
    assert.partialDeepStrictEqual(started.gateway.status().remoteAccess, {
      isEnabled: true,
      tunnel: 'connected',
      sessions: 1,
      streams: 1,
    })
    const request = cloud.requests.find(({ url }) => url === '/remote-access/v1/gateway-tunnel')
    assert.match(request?.headers.authorization ?? '', /^Bearer token-/)
    assert.equal(request?.headers['sec-websocket-protocol'], 'millwright.gateway-tunnel.v1')
  })

  test('refuses the registry and the proxy of the gateway, even if the local file allows their ports', async () => {
    await using cloud = await TestCloud.start()
    const tunnels = new Tunnels(cloud)
    await using started = await gatewayFor({ cloud })
    const { registryPort, proxyPort } = started.gateway
    started.allow({ loopback: true, allow: [{ network: '127.0.0.0/8', ports: [registryPort, proxyPort] }] })
    for (const port of [registryPort, proxyPort])
      for (const address of ['127.0.0.1', '127.0.0.2', '::ffff:127.0.0.1']) {
        const { code, detail } = await refusalOfOpening(tunnels.open(port, { address }))
        assert.equal(code, 'target_not_allowed')
        assert.match(detail, /port of the gateway/)
      }
  })

  test('resumes streams after a lost connection, without a loss of bytes', async () => {
    await using cloud = await TestCloud.start()
    const tunnels = new Tunnels(cloud)
    await using device = await TestDevice.start(echo)
    await using started = await gatewayFor({ cloud, port: device.port })
    const stream = await tunnels.open(device.port)
    let received = ''
    stream.on('data', (bytes: Buffer) => {
      received += bytes
    })
    let expected = ''
    for (let round = 1; round <= 3; round++) {
      stream.write(`round ${round} `)
      expected += `round ${round} `
      tunnels.sockets.at(-1)?.terminate()
      await until(() => tunnels.sockets.length > round && received === expected)
    }
    assert.equal(tunnels.all.length, 1)
    assert.equal(device.sockets.size, 1)
    assert.equal(started.gateway.status().remoteAccess.streams, 1)
  })

  test('a platform that restarted gets a new tunnel, and the connections of the former one end', async () => {
    await using cloud = await TestCloud.start()
    const tunnels = new Tunnels(cloud)
    await using device = await TestDevice.start(echo)
    await using _started = await gatewayFor({ cloud, port: device.port })
    await tunnels.open(device.port)
    assert.equal(device.sockets.size, 1)
    const [former] = tunnels.all.splice(0)
    tunnels.sockets.at(-1)?.terminate()
    await until(() => tunnels.all.length === 1)
    await until(() => device.sockets.size === 0)
    former?.close('restarted')
    const stream = await tunnels.open(device.port)
    stream.write('again')
    await read(stream, 'again')
  })

  test('is not opened again at once while the platform has no remote access', async () => {
    await using cloud = await TestCloud.start()
    await using started = await gatewayFor({ cloud })
    await until(() => started.gateway.status().remoteAccess.tunnel === 'unavailable')
    assert.equal(cloud.requests.filter(({ url }) => url.endsWith('/gateway-tunnel')).length, 1)
  })

  test('uses a new token after the platform rejected the token', onlyInLongRuns, async () => {
    await using cloud = await TestCloud.start()
    const tunnels = new Tunnels(cloud)
    const home = temporaryFolder()
    await using started = await gatewayFor({ cloud, home })
    await until(() => tunnels.all.length === 1)
    await cloud.endSession()
    tunnels.sockets.at(-1)?.terminate()
    await until(() => tunnels.sockets.length === 2)
    await until(() => started.gateway.status().remoteAccess.tunnel === 'connected')
    assert.equal(tunnels.all.length, 1)
  })

  test('closes when the local file switches remote access off, and opens again when it is switched on', async () => {
    await using cloud = await TestCloud.start()
    const tunnels = new Tunnels(cloud)
    await using device = await TestDevice.start(echo)
    await using started = await gatewayFor({ cloud, port: device.port })
    await tunnels.open(device.port)
    started.allow({ isEnabled: false })
    await until(() => started.gateway.status().remoteAccess.tunnel === 'off' && device.sockets.size === 0)
    await until(() => tunnels.sockets.every(({ readyState, CLOSED }) => readyState === CLOSED))
    started.allow({ loopback: true, allow: [{ network: '127.0.0.1', ports: [device.port] }] })
    await until(() => started.gateway.status().remoteAccess.tunnel === 'connected')
    await until(() => tunnels.all.length === 2)
    await tunnels.open(device.port)
  })

  test('ends open streams when the local file no longer allows them, and explains an invalid file', async () => {
    await using cloud = await TestCloud.start()
    const tunnels = new Tunnels(cloud)
    await using device = await TestDevice.start(echo)
    await using started = await gatewayFor({ cloud, port: device.port })
    const stream = await tunnels.open(device.port)
    started.allow({ loopback: 'yes' })
    const [error] = await once(stream, 'error')
    assert.equal(error.code, 'target_not_allowed')
    assert.match(started.gateway.status().remoteAccess.fault ?? '', /loopback must be boolean/)
    assert.ok(started.lines.some((line) => line.includes('until remote-access.json is corrected')))
    assert.equal((await refusalOfOpening(tunnels.open(device.port))).code, 'target_not_allowed')
  })

  for (const [name, user, authorization] of [
    ['an HTTP proxy', '', undefined],
    [
      'an HTTP proxy with a password',
      'plant:pass%40word@',
      `Basic ${Buffer.from('plant:pass@word').toString('base64')}`,
    ],
  ] as const)
    test(`opens through ${name}`, async () => {
      await using cloud = await TestCloud.start()
      const tunnels = new Tunnels(cloud)
      await using device = await TestDevice.start(echo)
      await using proxy = await TestProxy.start({ authorization })
      const outgoingProxy = `http://${user}127.0.0.1:${proxy.port}`
      await using _started = await gatewayFor({ cloud, port: device.port, outgoingProxy })
      const stream = await tunnels.open(device.port)
      stream.write('through the proxy')
      await read(stream, 'through the proxy')
      assert.ok(proxy.targets.includes(new URL(cloud.url).host))
    })

  test('ends the connections to devices when the gateway stops', async () => {
    await using cloud = await TestCloud.start()
    const tunnels = new Tunnels(cloud)
    await using device = await TestDevice.start(echo)
    const started = await gatewayFor({ cloud, port: device.port })
    const stream = await tunnels.open(device.port)
    const ended = once(stream, 'error')
    await started.gateway.stop()
    assert.equal((await ended)[0].message, 'The gateway stops')
    await until(() => device.sockets.size === 0)
  })
})
