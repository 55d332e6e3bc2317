import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { openProxyTunnel } from './proxy-tunnel.ts'

test('ends the attempt after ten seconds, even if the proxy sends a part of its response', async (t) => {
  const proxy = createServer().listen(0, '127.0.0.1')
  t.after(() => proxy.close())
  await once(proxy, 'listening')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { port } = proxy.address() as AddressInfo
  const tunnel = openProxyTunnel(new URL(`http://127.0.0.1:${port}`), { protocol: 'https:', hostname: 'plant.example' })
  const refused = assert.rejects(tunnel, /The HTTP proxy does not answer/)
  const [socket] = (await once(proxy, 'connection')) as [Socket]
  const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve))
  await once(socket, 'data')
  socket.write('HTTP/1.1 200')
  t.mock.timers.tick(10_000)
  await refused
  await closed
})
