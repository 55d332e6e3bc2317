import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { testHub } from './platform/testing/hub.ts'
import { Readiness } from './readiness.ts'

test('reports ready when the platform has started, its database works and the other processes respond', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const peer = createServer((request, response) => response.writeHead(request.url === '/healthz' ? 200 : 404).end())
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve))
  const peerUrl = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`
  const remote = new Map([
    ['identity', peerUrl],
    ['authorization', peerUrl],
  ])
  const readiness = new Readiness({ database, remote, send: fetch, tls: undefined })
  readiness.setNotReady('The first run is not finished')
  assert.equal(await readiness.reason(), 'The first run is not finished')
  readiness.setNotReady(undefined)
  // The check is repeated, because a busy machine may miss its time limit.
  while ((await readiness.reason()) !== undefined);

  peer.closeAllConnections()
  await new Promise((resolve) => peer.close(resolve))
  assert.equal(await readiness.reason(), 'Services not reachable: authorization, identity')
})
