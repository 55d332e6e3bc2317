import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { readCredential } from '@millwright/link-sdk/credential.ts'
import type { DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { discover } from './discover.ts'
import { defaultOptions } from './options.ts'
import { properties } from './properties.ts'

const python = process.env.MILLWRIGHT_TEST_PYTHON ?? 'python3'

function hasPeer(): boolean {
  try {
    execFileSync(python, ['-c', 'import asyncua'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Starts the peer. It ends with the test. */
async function startPeer(t: TestContext): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'millwright-asyncua-'))
  const script = join(import.meta.dirname, 'asyncua-peer.py')
  const peer = spawn(python, [script, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(peer, 'close')
  t.after(async () => {
    peer.stdin.end()
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  const [line] = await Promise.race([once(createInterface(peer.stdout), 'line'), ended.then(() => ['0'])])
  assert.ok(Number(line) > 0, 'The peer ended before it listened.')
  return Number(line)
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const address = '127.0.0.1'

async function scan(port: number, more: Partial<DiscoverCall> = {}) {
  const permits = unlimitedPermits()
  const call = {
    filters: [{ key: 'ip_range', operator: 'EQUAL' as const, value: address }],
    options: { ...defaultOptions, ports: String(port), answer_timeout_ms: 30_000 },
    targets: [],
    progress: () => undefined,
    signal: new AbortController().signal,
    log: silent,
    ...more,
  }
  return { results: await Array.fromAsync(discover({ ...call, permits })), taken: permits.taken }
}

const credentialOf = (fields: Record<string, string>) => readCredential({ schemaUri: '', text: JSON.stringify(fields) })
const operator = credentialOf({ username: 'operator', password: 'secret of the operator' })
const target = (port: number, credential = operator) => ({
  address: { ip_address: address, port },
  identifiers: [],
  credentials: [credential],
})

function assetIn(results: DiscoveryResult[]) {
  const [first] = results
  assert.ok(first !== undefined && 'asset' in first, JSON.stringify(results))
  return first.asset
}

test('reads a server of asyncua', async (t) => {
  if (!hasPeer()) return t.skip('asyncua is not installed')
  const port = await startPeer(t)

  await t.test('reads build information, nameplate and certificate without credentials', async () => {
    const { results, taken } = await scan(port)
    const text = JSON.stringify(assetIn(results))
    for (const part of ['MX-0815', 'MX 100-2', 'E3', 'V4.1.0', 'Mixer 100', 'Example Machines', '1.2.3 (77)']) {
      assert.ok(text.includes(part), `${part} is missing in ${text}`)
    }
    assert.match(text, /"certificate_id":"[0-9a-f]{64}"/)
    assert.equal(taken.filter(({ kind }) => kind === 'connection').length, 1)
  })

  await t.test('signs in with a password over Basic256Sha256', async () => {
    const { results, taken } = await scan(port, { targets: [target(port)] })
    assert.match(JSON.stringify(assetIn(results)), /MX-0815/)
    assert.equal(results.length, 1)
    assert.equal(taken.filter(({ operation }) => operation === 'OpenSecureChannel').length, 2)
  })

  await t.test('reports rejected credentials', async () => {
    const wrong = credentialOf({ username: 'operator', password: 'guess' })
    const { results } = await scan(port, { targets: [target(port, wrong)] })
    const codes = results.flatMap((one) => ('error' in one ? [one.error.code] : []))
    assert.deepEqual(codes, ['UNAUTHENTICATED'])
    assert.match(JSON.stringify(assetIn(results)), /certificate_id/)
  })

  await t.test('sends a password only to the server with the required certificate', async () => {
    const pinned = (hash: string) =>
      credentialOf({ username: 'operator', password: 'secret of the operator', server_certificate_hash: hash })
    const { results } = await scan(port, { targets: [target(port, pinned('0'.repeat(64)))] })
    const messages = results.flatMap((one) => ('error' in one ? [one.error.message] : []))
    assert.match(messages.join(), /another certificate/)
    const [, hash = ''] = /"certificate_id":"([0-9a-f]{64})"/.exec(JSON.stringify(assetIn(results))) ?? []
    const again = await scan(port, { targets: [target(port, pinned(hash.toUpperCase()))] })
    assert.match(JSON.stringify(assetIn(again.results)), /MX-0815/)
  })

  await t.test('reads the status on demand', async () => {
    const signal = new AbortController().signal
    const values = await properties({ device: target(port), permits: unlimitedPermits(), signal })
    assert.equal(values.server_state, 'running')
    assert.match(String(values.current_time), /^\d{4}-\d\d-\d\dT/)
    assert.match(JSON.stringify(values.build_info), /"softwareVersion":"1.2.3".*2026-05-04/)
    assert.match(JSON.stringify(values.endpoints), /Basic256Sha256.*certificate_valid_to/)
  })
})
