import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Manifest } from '../manifest.ts'
import { openPermitSource } from './permit-source.ts'

const manifest: Manifest = {
  id: 'test.links.knock',
  name: 'Knock',
  vendor: 'Test',
  version: '1.0.0',
  sends: [{ protocol: 'knock', operation: 'Knock', transport: 'udp', description: 'One datagram' }],
}
const request = { address: '10.0.0.1', protocol: 'knock', operation: 'Knock', kind: 'datagram' } as const
const open = () => new AbortController().signal

test('a link without a gateway has the default budget for itself', async () => {
  const source = openPermitSource({ manifest })
  using permits = source.forCall({ signal: open() })
  const startedMs = performance.now()
  for (let count = 0; count < 5; count += 1) await permits.take(request)
  assert.ok(performance.now() - startedMs >= 4 * 50, 'twenty datagrams per second')
})

test('a link gets no permit for a function that its manifest does not contain', async () => {
  using permits = openPermitSource({ manifest }).forCall({ signal: open() })
  await assert.rejects(permits.take({ ...request, operation: 'Write' }), { code: 'INTERNAL' })
  const { sends: _, ...silent } = manifest
  using none = openPermitSource({ manifest: silent }).forCall({ signal: open() })
  await assert.rejects(none.take(request), { code: 'INTERNAL' })
})

test('cancellation and the end of the call end waiting requests, and refuse further ones', async () => {
  const source = openPermitSource({ manifest })
  const controller = new AbortController()
  using canceled = source.forCall({ signal: controller.signal })
  const ended = source.forCall({ signal: open() })
  for (const [permits, end] of [
    [canceled, () => controller.abort()],
    [ended, () => ended[Symbol.dispose]()],
  ] as const) {
    await permits.take(request)
    const waiting = permits.take(request)
    end()
    await assert.rejects(waiting, { reason: 'canceled', code: 'ABORTED' })
    await assert.rejects(permits.take(request), { reason: 'canceled' })
  }
})

test('the end of a call closes its connections, so that another call can open connections', async () => {
  const source = openPermitSource({ manifest })
  const connection = { ...request, kind: 'connection' } as const
  const first = source.forCall({ signal: open() })
  await first.take(connection)
  const second = await first.take(connection)
  second[Symbol.dispose]()
  second[Symbol.dispose]()
  await first.take(connection)
  using other = source.forCall({ signal: open() })
  const waiting = other.take(connection)
  first[Symbol.dispose]()
  await waiting
  await other.take(connection)
})

test('a gateway that cannot be reached gives no permits', async () => {
  const source = openPermitSource({ manifest, registry: '127.0.0.1:1' })
  using permits = source.forCall({ signal: open() })
  await assert.rejects(permits.take(request), { code: 'UNAVAILABLE' })
  source.close()
})
