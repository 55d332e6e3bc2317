import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import Value from 'typebox/value'
import { canonicalJson } from './canonical-json.ts'
import { GatewayKey } from './onboarding.ts'
import { packetClassOf, receiptText, SignedReceipt } from './receipt.ts'
import { isReceipt, keyThumbprint, type ReceiptKey, signReceipt, verifyReceipt } from './receipt-signature.ts'
import { defaultBudget } from './scan-budget.ts'

function newKey(): ReceiptKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' })
  assert.ok(Value.Check(GatewayKey, jwk))
  return { privateKey, publicKey: jwk, thumbprint: keyThumbprint(jwk) }
}

const key = newKey()
const at = '2026-01-31T08:30:00.000Z'
const getBulk = packetClassOf({ protocol: 'snmp', operation: 'GetBulk' })

const unsigned = {
  jobId: '0198f0c2-7b1e-7c3a-9d55-0242ac120002',
  runId: '0198f0c2-7b1e-7c3a-9d55-0242ac120003',
  gatewayId: '0198f0c2-7b1e-7c3a-9d55-0242ac120004',
  assetLinkId: 'snmp-1',
  from: at,
  to: at,
  state: 'finished' as const,
  budget: {
    ...defaultBudget,
    protocols: ['snmp'],
    hours: [{ from: '22:00', to: '05:00' }],
    excludedAddresses: ['10.0.0.9'],
  },
  devices: [
    { address: '10.0.0.7', packets: { [getBulk]: 12, 'snmp Get': 1 }, first: at, last: at },
    { network: '10.0.3.0/24', addresses: 256, packets: { 'snmp Get': 256 }, first: at, last: at },
  ],
  totals: { [getBulk]: 12, 'snmp Get': 257 },
  refused: { excluded: 3 },
}

const signed = signReceipt(unsigned, key)

type Path = (string | number)[]

/** Returns the paths of all values of a document, including objects and lists. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const below = Array.isArray(value)
    ? value.flatMap((one, index) => pathsOf(one, [...path, index]))
    : Object.entries(value).flatMap(([name, one]) => pathsOf(one, [...path, name]))
  return path.length === 0 ? below : [path, ...below]
}

/** Returns a copy in which the value at the path is replaced. `undefined` removes a field. */
function changed(document: unknown, path: Path, value: unknown): object {
  const copy = structuredClone(document) as Record<string | number, unknown>
  let parent = copy
  for (const name of path.slice(0, -1)) parent = parent[name] as typeof copy
  const last = path.at(-1) ?? ''
  if (value === undefined && !Array.isArray(parent)) delete parent[last]
  else parent[last] = value
  return copy
}

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, one]) => [name, reordered(one)]),
  )
}

test('verifies a signed receipt and names the key', () => {
  assert.ok(Value.Check(SignedReceipt, signed))
  assert.deepEqual(verifyReceipt(signed), { isValid: true, thumbprint: key.thumbprint })
  assert.deepEqual(verifyReceipt(JSON.parse(JSON.stringify(signed))), { isValid: true, thumbprint: key.thumbprint })
})

test('verifies a receipt whose fields have another order', () => {
  const other = reordered(signed) as object
  assert.notEqual(JSON.stringify(other), JSON.stringify(signed))
  assert.equal(receiptText(other), receiptText(signed))
  assert.equal(verifyReceipt(other).isValid, true)
})

test('refuses a receipt in which any field was changed, removed or added', () => {
  const paths = pathsOf(signed)
  assert.ok(paths.length > 40)
  for (const path of paths) assert.equal(verifyReceipt(changed(signed, path, undefined)).isValid, false, path.join('/'))
  const value = fc.oneof(fc.jsonValue(), fc.nat(), fc.string())
  fc.assert(
    fc.property(fc.constantFrom(...paths), value, (path, other) => {
      const forged = changed(signed, path, other)
      if (canonicalJson(forged) === canonicalJson(signed)) return
      assert.equal(verifyReceipt(forged).isValid, false)
    }),
  )
  assert.equal(verifyReceipt({ ...signed, unsigned: true }).isValid, false)
})

test('refuses a receipt whose signature was changed at any character', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.='
  fc.assert(
    fc.property(fc.nat(signed.signature.length - 1), fc.constantFrom(...alphabet), (index, character) => {
      fc.pre(signed.signature[index] !== character)
      const signature = signed.signature.slice(0, index) + character + signed.signature.slice(index + 1)
      assert.equal(verifyReceipt({ ...signed, signature }).isValid, false)
    }),
    { numRuns: 500 },
  )
  for (const character of alphabet) {
    const signature = signed.signature.slice(0, -1) + character
    if (signature !== signed.signature) assert.equal(verifyReceipt({ ...signed, signature }).isValid, false)
  }
})

test('names the other key of a receipt that was signed again', () => {
  const other = newKey()
  const forged = signReceipt({ ...unsigned, totals: { 'snmp Get': 1 } }, other)
  assert.deepEqual(verifyReceipt(forged), { isValid: true, thumbprint: other.thumbprint })
  const { signature } = signReceipt(unsigned, { ...other, thumbprint: key.thumbprint })
  assert.deepEqual(verifyReceipt({ ...unsigned, signature }), { isValid: false, reason: 'unreadable_signature' })
})

test('explains why a receipt is not valid', () => {
  const { runId: _run, gatewayId: _gateway, assetLinkId: _link, ...scan } = unsigned
  const local = { ...scan, links: ['snmp'], unsigned: true }
  assert.ok(isReceipt(local))
  assert.deepEqual(verifyReceipt(local), { isValid: false, reason: 'unsigned' })
  for (const signature of ['', 'a.b.c', '..', 1, null, `${signed.signature}.`, 'eyJhbGciOiJub25lIn0..'])
    assert.deepEqual(verifyReceipt({ ...signed, signature }), { isValid: false, reason: 'unreadable_signature' })
  assert.deepEqual(verifyReceipt({ ...signed, state: 'failed' }), {
    isValid: false,
    reason: 'changed',
    thumbprint: key.thumbprint,
  })
})
