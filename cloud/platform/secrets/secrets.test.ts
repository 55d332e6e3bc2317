import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { masterKey } from './master-key.ts'
import { createSecrets } from './secrets.ts'

describe('sealed values', () => {
  const secrets = createSecrets(randomBytes(32))

  test('open to what was sealed, and look different each time', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string(), (plain, belongsTo) => {
        const sealed = secrets.seal(plain, belongsTo)
        assert.deepEqual(new Uint8Array(secrets.open(sealed, belongsTo)), plain)
        assert.notDeepEqual(secrets.seal(plain, belongsTo), sealed)
      }),
    )
  })

  test('do not open for another owner, with another key, or after any change', () => {
    const sealed = secrets.seal('the secret', 'row/1')
    assert.throws(() => secrets.open(sealed, 'row/2'))
    assert.throws(() => createSecrets(randomBytes(32)).open(sealed, 'row/1'))
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed)
      changed[i] = (changed[i] ?? 0) ^ 1
      assert.throws(() => secrets.open(changed, 'row/1'), `byte ${i}`)
    }
    assert.throws(() => secrets.open(sealed.subarray(0, 10), 'row/1'))
  })

  test('keys of different purposes have nothing in common', () => {
    assert.notDeepEqual(secrets.derive('one'), secrets.derive('two'))
    assert.notDeepEqual(secrets.mac('one', 'x'), secrets.mac('two', 'x'))
    assert.deepEqual(secrets.mac('one', 'x'), secrets.mac('one', 'x'))
  })
})

describe('the master key', () => {
  test('is made once, also when several start at the same time, and is readable by its owner alone', async () => {
    const home = await mkdtemp(join(tmpdir(), 'millwright-key-'))
    const keys = await Promise.all(Array.from({ length: 8 }, () => masterKey({ home, given: undefined })))
    assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 1)
    assert.equal((await stat(join(home, 'master.key'))).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(home), ['master.key'])
    await rm(home, { recursive: true })
  })

  test('from the environment wins, and a malformed one ends the start', async () => {
    const home = await mkdtemp(join(tmpdir(), 'millwright-key-'))
    const given = randomBytes(32).toString('base64')
    assert.equal((await masterKey({ home, given })).toString('base64'), given)
    await assert.rejects(masterKey({ home, given: 'short' }), /MILLWRIGHT_MASTER_KEY is not 32 bytes/)
    await writeFile(join(home, 'master.key'), 'damaged')
    await assert.rejects(masterKey({ home, given: undefined }), /put the right key back/)
    await rm(home, { recursive: true })
  })
})
