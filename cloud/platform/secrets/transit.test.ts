import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type TestHub, testHub } from '../testing/hub.ts'
import { keyFile, makeNotes, readNote, writeNote } from '../testing/sealed-notes.ts'
import { testMasterKey } from '../testing/server.ts'
import { startTransitServer } from '../testing/transit-server.ts'
import { keyStatus } from './key-status.ts'
import { MasterKeys } from './master-keys.ts'
import { rewrapWithTransit, rotateMasterKey } from './master-rotation.ts'
import { openSecrets } from './opening.ts'
import { Safe } from './safe.ts'
import { Transit, type TransitSettings } from './transit.ts'

const skip = process.env.MILLWRIGHT_TEST_DATABASE_URL !== undefined && 'others use the same keys'

describe('transit key of Vault or OpenBao', { skip }, () => {
  const token = 'hvs.planted-secret-token'
  let vault: Awaited<ReturnType<typeof startTransitServer>>
  let file: Awaited<ReturnType<typeof keyFile>>
  let hub: TestHub
  let settings: TransitSettings

  before(async () => {
    vault = await startTransitServer({ token, key: 'plant', namespace: 'factory' })
    file = await keyFile(testMasterKey)
    hub = await testHub({ own: true, arrangement: 'one process', masterKeyFile: file.path })
    await hub.asOwner((owner) => makeNotes(owner, 'millwright_test_app'))
    settings = {
      address: vault.address,
      mount: 'transit',
      key: 'plant',
      token,
      tokenFile: undefined,
      namespace: 'factory',
    }
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await file[Symbol.asyncDispose]()
    await vault[Symbol.asyncDispose]()
  })

  /** Opens the master keys of a process that has only the address and the token of the server. */
  const withVault = (change: Partial<TransitSettings> = {}, path = '/nowhere/master.key') =>
    MasterKeys.open({ file: path, environmentKeys: [], transit: new Transit({ ...settings, ...change }) })

  const noteAsSeenWith = async (masterKeys: MasterKeys, id: string) => {
    await hub.asOwner((owner) => openSecrets(owner, masterKeys))
    return readNote({ database: hub.context.database, safe: new Safe({ ...hub.context, masterKeys }) }, hub.tenant, id)
  }

  test('moves the master key from a file to Vault, and starts later processes without the key file', async () => {
    const id = await writeNote(hub.context, hub.tenant, 'from before')
    const both = await withVault({}, file.path)
    const { from, to } = await hub.asOwner((owner) => rotateMasterKey(owner, { masterKeys: both }))
    assert.equal(from.length, 1)
    await rm(file.path)
    assert.equal(await noteAsSeenWith(await withVault(), id), 'from before')
    const status = await hub.asOwner(async (owner) => keyStatus(owner, { masterKeys: await opened(), columns: [] }))
    assert.deepEqual(
      status.master.map(({ id: key, place, state }) => ({ key, place, state })),
      [{ key: to, place: 'Vault', state: 'current' }],
    )
    const kept = await hub.asOwner((owner) => owner.query('select transit_text as text from master_keys'))
    assert.match(kept.rows[0]?.text, /^vault:v1:/)
  })

  test('rewraps the same root key after the transit key is rotated in Vault', async () => {
    const id = await writeNote(
      { ...hub.context, safe: new Safe({ ...hub.context, masterKeys: await opened() }) },
      hub.tenant,
      'x',
    )
    const masterKeys = await withVault()
    const ids = await hub.asOwner((owner) => rewrapWithTransit(owner, masterKeys, { rotate: true }))
    assert.equal(ids.length, 1)
    const kept = await hub.asOwner((owner) => owner.query('select transit_text as text from master_keys'))
    assert.match(kept.rows[0]?.text, /^vault:v2:/)
    assert.equal(await noteAsSeenWith(await withVault(), id), 'x')
  })

  test('replaces the root key in Vault by a new root key', async () => {
    const before = (await opened()).ids
    const { from, to } = await hub.asOwner(async (owner) => rotateMasterKey(owner, { masterKeys: await withVault() }))
    assert.deepEqual([from, (await opened()).ids], [before, [to]])
  })

  test('creates one root key when several processes of a new installation start, without a key file', async () => {
    await using fresh = await testHub({ own: true, arrangement: 'one process' })
    await fresh.asOwner((owner) =>
      owner.query('delete from platform_secrets; delete from platform_keys; delete from master_keys'),
    )
    const open = async () => fresh.asOwner(async (owner) => openSecrets(owner, await withVault()))
    const all = await Promise.all([open(), open(), open()])
    const [first, ...others] = all.map((secrets) => secrets.mac('p', 'x').toString('hex'))
    assert.ok(others.every((other) => other === first))
    assert.equal((await fresh.asOwner((owner) => owner.query('select from master_keys'))).rowCount, 1)
    assert.ok(vault.requests.every((line) => line.startsWith('POST /v1/transit/')))
  })

  test('reads the Vault token from a file for each request', async () => {
    const tokenFile = join(file.folder, 'token')
    const masterKeys = await withVault({ token: undefined, tokenFile })
    const start = () => hub.asOwner((owner) => openSecrets(owner, masterKeys))
    await assert.rejects(start(), /token \S+ cannot be read \(ENOENT\)/)
    await writeFile(tokenFile, `${token}\n`)
    await start()
  })

  test('reports each Vault error in one sentence without the token', async () => {
    const start = async (change: Partial<TransitSettings>) =>
      hub.asOwner(async (owner) => openSecrets(owner, await withVault(change)))
    const cases: [Partial<TransitSettings>, RegExp][] = [
      [{ token: 'hvs.another' }, /refused transit\/decrypt\/plant \(403\): check the token/],
      [{ namespace: undefined }, /\(403\)/],
      [{ key: 'other' }, /\(404\): check MILLWRIGHT_VAULT_MOUNT and MILLWRIGHT_VAULT_KEY/],
      [{ mount: 'elsewhere' }, /\(404\)/],
      [{ address: 'http://127.0.0.1:1' }, /cannot be reached \(.+\): check MILLWRIGHT_VAULT_ADDRESS/],
    ]
    for (const [change, says] of cases) {
      await assert.rejects(start(change), (error: Error) => {
        assert.match(error.message, says)
        assert.ok(!error.message.includes('planted') && !error.message.includes('\n'))
        return error.constructor.name === 'StartError'
      })
    }
    vault.state.isSealed = true
    await assert.rejects(start({}), /\(503\): the server is sealed/)
    vault.state.isSealed = false
  })

  test('refuses to send keys to Vault without TLS, except to a loopback address', () => {
    for (const address of ['http://vault.example', 'http://127.0.0.1.example', 'http://10.0.0.1:8200']) {
      assert.throws(() => new Transit({ ...settings, address }), /must start with https/)
    }
    for (const address of ['https://vault.example', 'http://localhost:8200', 'http://[::1]:8200', 'http://127.0.0.1']) {
      assert.ok(new Transit({ ...settings, address }))
    }
    assert.throws(() => new Transit({ ...settings, token: undefined }), /MILLWRIGHT_VAULT_TOKEN/)
  })

  /** Returns the master keys of a process that has started. */
  async function opened(): Promise<MasterKeys> {
    const masterKeys = await withVault()
    await hub.asOwner((owner) => openSecrets(owner, masterKeys))
    return masterKeys
  }
})
