import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryNames } from './dns-query.ts'

test('a DNS server without a route is an error of the query, and the process continues', async () => {
  // The operating system refuses to connect a socket to the broadcast address, so nothing is sent.
  const server = { address: '255.255.255.255', port: 53 }
  const signal = new AbortController().signal
  await assert.rejects(queryNames({ server, address: '10.0.0.1', timeoutMs: 60_000, signal }), { code: 'EACCES' })
})
