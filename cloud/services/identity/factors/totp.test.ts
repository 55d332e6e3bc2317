import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecoveryCode, recoveryCodeHash } from './recovery-codes.ts'
import { readTotpCode, stepOf, totpSetup } from './totp.ts'

/** The secret and the SHA-1 values of RFC 6238 appendix B. The last 6 of 8 digits are used. */
const secret = Buffer.from('12345678901234567890')
const vectors: [number, string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
]

test('accepts the codes of RFC 6238 in their time step, one step earlier and one step later', () => {
  for (const [seconds, code] of vectors) {
    const step = Math.floor(seconds / 30)
    for (const offset of [-1, 0, 1]) assert.equal(stepOf(secret, code, (seconds + offset * 30) * 1000), step)
    for (const offset of [-2, 2]) assert.equal(stepOf(secret, code, (seconds + offset * 30) * 1000), undefined)
  }
})

test('reads codes with spaces and refuses other texts', () => {
  assert.equal(readTotpCode(' 123 456 '), '123456')
  for (const text of ['', '12345', '1234567', '12345a', '１２３４５６', '-12345', '1e5000']) {
    assert.equal(readTotpCode(text), undefined, text)
  }
})

test('creates an otpauth URI and a QR code without scripts', () => {
  const setup = totpSetup(secret, { account: 'jane@plant-7', host: 'mw.example.com' })
  const uri = new URL(setup.uri)
  assert.equal(uri.protocol, 'otpauth:')
  assert.deepEqual(
    ['secret', 'algorithm', 'digits', 'period'].map((name) => uri.searchParams.get(name)),
    ['GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', 'SHA1', '6', '30'],
  )
  assert.match(setup.qrCode, /^<svg [^>]*><rect [^>]*><path [^>]*><\/svg>$/)
})

test('creates recovery codes of at least 80 bits that users can type in capitals and without dashes', () => {
  const codes = Array.from({ length: 1000 }, createRecoveryCode)
  assert.equal(new Set(codes).size, codes.length)
  const [code = ''] = codes
  assert.match(code, /^([a-z2-9]{5}-){3}[a-z2-9]{5}$/)
  assert.deepEqual(recoveryCodeHash(code.toUpperCase().replaceAll('-', ' ')), recoveryCodeHash(code))
  assert.equal(recoveryCodeHash(code.slice(1)), undefined)
})
