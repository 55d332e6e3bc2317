import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { newKey } from './cipher.ts'
import { MasterKeys } from './master-keys.ts'

const nobodyKnows = async () => []

describe('master keys', () => {
  let home: string
  let file: string
  let number = 0

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'millwright-key-'))
  })

  after(() => rm(home, { recursive: true }))

  const open = (environmentKeys: string[] = []) => MasterKeys.open({ file, environmentKeys, transit: undefined })
  const aKey = () => randomBytes(32).toString('base64')
  const fresh = () => {
    file = join(home, `master-${number++}.key`)
  }

  test('creates one master key file, readable only by its owner, when several processes start', async () => {
    fresh()
    const all = await Promise.all(Array.from({ length: 8 }, () => open()))
    const ids = await Promise.all(all.map(async (keys) => (await keys.first()).id))
    assert.equal(new Set(ids).size, 1)
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(home), ['master-0.key'])
  })

  test('uses the master keys of the environment first and creates no key file', async () => {
    fresh()
    const keys = await open([aKey()])
    assert.deepEqual([keys.place, (await keys.first()).id], ['environment', keys.newest])
    await assert.rejects(stat(file))
  })

  test('refuses to start with a malformed master key', async () => {
    fresh()
    await assert.rejects(open(['short']), /MILLWRIGHT_MASTER_KEY is not 32 bytes/)
    for (const [text, says] of [
      ['damaged', /restore the correct key/],
      ['', /is empty/],
      [`${aKey()}\ndamaged\n`, /restore the correct key/],
    ] as const) {
      await writeFile(file, text)
      await assert.rejects(open(), says)
    }
  })

  test('adds a new master key before the other keys in the file', async () => {
    fresh()
    const keys = await open()
    const first = await keys.first()
    const second = await keys.next(first.id)
    assert.notEqual(second.id, first.id)
    const again = await open()
    assert.deepEqual([again.newest, again.ids], [second.id, [second.id, first.id]])
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.equal((await again.next(first.id)).id, second.id, 'one that was added and not used yet is used')
    assert.deepEqual(await again.forget((id) => id === first.id), [first.id])
    assert.deepEqual((await open()).ids, [second.id])
    assert.deepEqual(await again.forget(() => true), [], 'the last one stays')
    assert.equal((await readFile(file, 'utf8')).split('\n').length, 2)
  })

  test('finds a master key that was added to the file after the start', async () => {
    fresh()
    const running = await open()
    await running.first()
    const { id } = await (await open()).next(running.newest)
    const wrapped = (await open()).wrap(id, newKey(), 'x')
    await running.find(id, nobodyKnows)
    assert.equal(running.unwrap(id, wrapped, 'x').symmetricKeySize, 32)
  })

  test('unwraps a key only with the key that wrapped it and for the same purpose', async () => {
    fresh()
    const keys = await open([aKey(), aKey()])
    const [one = '', other = ''] = keys.ids
    const key = newKey()
    const wrapped = keys.wrap(one, key, 'data key 1')
    assert.ok(keys.unwrap(one, wrapped, 'data key 1').equals(key))
    assert.throws(() => keys.unwrap(other, wrapped, 'data key 1'))
    assert.throws(() => keys.unwrap(one, wrapped, 'data key 2'))
    await assert.rejects(keys.find('0123456789abcdef', nobodyKnows), /does not match this database/)
  })

  test('requires a second master key in the environment before a rotation', async () => {
    fresh()
    const keys = await open([aKey()])
    await assert.rejects(keys.next(keys.newest), /MILLWRIGHT_MASTER_KEY_PREVIOUS/)
  })

  test('reports a master key file that cannot be written', {
    skip: process.getuid?.() === 0 && 'root may write anywhere',
  }, async () => {
    fresh()
    await chmod(home, 0o500)
    const keys = await open()
    await assert.rejects(keys.first(), /cannot be written/)
    await chmod(home, 0o700)
  })
})
