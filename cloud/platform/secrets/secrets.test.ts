import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { newKey } from './cipher.ts'
import { createSecrets, Secrets } from './secrets.ts'

describe('values sealed by the platform', () => {
  const secrets = createSecrets(randomBytes(32))

  test('returns the original value of a sealed value, and seals the same value differently each time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), fc.string(), async (plain, belongsTo) => {
        const sealed = secrets.seal(plain, belongsTo)
        assert.deepEqual(new Uint8Array(await secrets.open(sealed, belongsTo)), plain)
        assert.notDeepEqual(secrets.seal(plain, belongsTo), sealed)
      }),
    )
  })

  test('does not open a sealed value for another owner, with another key, or after any change', async () => {
    const sealed = secrets.seal('the secret', 'row/1')
    await assert.rejects(secrets.open(sealed, 'row/2'))
    await assert.rejects(createSecrets(randomBytes(32)).open(sealed, 'row/1'))
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed)
      changed[i] = (changed[i] ?? 0) ^ 1
      await assert.rejects(secrets.open(changed, 'row/1'), `byte ${i}`)
    }
    await assert.rejects(secrets.open(sealed.subarray(0, 10), 'row/1'))
  })
})

describe('platform keys', () => {
  const secrets = createSecrets(randomBytes(32))

  test('derives independent keys for different purposes', () => {
    assert.ok(!secrets.keyFor('one').key.equals(secrets.keyFor('two').key))
    assert.notDeepEqual(secrets.mac('one', 'x'), secrets.mac('two', 'x'))
    assert.deepEqual(secrets.mac('one', 'x'), secrets.mac('one', 'x'))
  })

  test('verifies a message authentication code, or a long enough prefix of it', () => {
    const mac = secrets.mac('one', 'x')
    assert.ok(secrets.isMac('one', 'x', mac))
    assert.ok(secrets.isMac('one', 'x', mac.subarray(0, 16)))
    assert.ok(!secrets.isMac('one', 'x', mac.subarray(0, 15)))
    assert.ok(!secrets.isMac('one', 'y', mac))
    assert.ok(!secrets.isMac('two', 'x', mac))
    assert.ok(!secrets.isMac('one', 'x', Buffer.concat([mac, Buffer.of(0)])))
  })

  test('seals with a new key immediately, creates codes with it after its activation, and accepts old codes', async () => {
    const [first, second] = [newKey(), newKey()]
    const at = (ms: number) => new Date(Date.now() + ms)
    const before = new Secrets([{ version: 1, activeFrom: at(-1000), key: first }])
    const during = new Secrets([
      { version: 1, activeFrom: at(-1000), key: first },
      { version: 2, activeFrom: at(60_000), key: second },
    ])
    const after = new Secrets([
      { version: 1, activeFrom: at(-1000), key: first },
      { version: 2, activeFrom: at(-1), key: second },
    ])
    assert.ok(before.isMac('p', 'x', during.mac('p', 'x')), 'one that has not heard of it yet understands the others')
    assert.ok(during.isMac('p', 'x', after.mac('p', 'x')))
    assert.ok(after.isMac('p', 'x', before.mac('p', 'x')))
    assert.ok(!before.isMac('p', 'x', after.mac('p', 'x')))
    assert.equal((await after.open(before.seal('s', 'b'), 'b')).toString(), 's')
    assert.equal((await after.open(during.seal('s', 'b'), 'b')).toString(), 's')
    await assert.rejects(before.open(during.seal('s', 'b'), 'b'), /Platform key 2 does not exist/)
  })

  test('does not print key material when the object that holds the keys is inspected', () => {
    const key = randomBytes(32)
    const { inspect } = process.getBuiltinModule('node:util')
    const printed = inspect(createSecrets(key), { depth: 10, showHidden: true })
    for (const form of ['hex', 'base64', 'latin1'] as const) assert.ok(!printed.includes(key.toString(form)))
  })
})
