import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { inventory } from '@millwright/api/inventory.ts'
import { limits } from '../limits.ts'
import { testHub } from '../testing/hub.ts'

const path = inventory.prefix + inventory.operations.createAsset.path

test('limits the large bodies of one tenant: more wait unread, then get 503, and other requests are answered', async () => {
  await using hub = await testHub({ arrangement: 'one process' })
  const [cloud] = hub.clouds
  assert.ok(cloud)
  const port = await cloud.listen({ host: '127.0.0.1', port: 0 })
  cloud.setBaseUrl(`http://127.0.0.1:${port}`)
  const { token } = await hub.as('administrator')
  const other = await hub.as('administrator', { tenant: await hub.anotherTenant() })
  const post = async (body: object, as = token) => {
    const headers = { authorization: `Bearer ${as}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    await response.text()
    return response.status
  }
  /** Announces a body and sends nothing of it. */
  const announce = (bytes: number): Socket => {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    const lines = [`POST ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`]
    socket.write([...lines, 'Content-Type: application/json', `Content-Length: ${bytes}`, '', ''].join('\r\n'))
    return socket
  }
  const admitted = limits.bodiesInFlightPerTenant / limits.bodyBytes
  const sockets = Array.from({ length: admitted + limits.bodiesWaitingPerTenant + 1 }, () => announce(limits.bodyBytes))
  try {
    const [answer] = (await Promise.race(sockets.map((socket) => once(socket, 'data')))) as [string]
    assert.match(answer, /^HTTP\/1\.1 503 /)
    assert.match(answer, /^retry-after: 2\r$/im)
    const large = { padding: 'x'.repeat(limits.largeBodyBytes) }
    assert.equal(await post(large), 503, 'more large bodies of the tenant are refused')
    assert.equal(await post({}), 400, 'a small body is read')
    assert.equal(await post(large, other.token), 400, 'a large body of another tenant is read')
    assert.equal(sockets.filter(({ bytesRead }) => bytesRead > 0).length, 1, 'the others wait without an answer')
    for (const socket of sockets) socket.destroy()
    let status = 503
    while (status === 503) status = await post(large)
    assert.equal(status, 400, 'closed connections free their part')
  } finally {
    for (const socket of sockets) socket.destroy()
  }
})
