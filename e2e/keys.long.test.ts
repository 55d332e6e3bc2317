import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openMasterKeys } from '@millwright/cloud/master-key-places.ts'
import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import { attachPostgres } from '@millwright/cloud/platform/postgres/postgres.ts'
import { openSecrets } from '@millwright/cloud/platform/secrets/opening.ts'
import { wrappedFor } from '@millwright/cloud/platform/secrets/safe.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { embeddedOwner } from '@millwright/cloud/start.ts'
import { runCommand } from './command.ts'
import { callerOf, type Platform, signIn, startPlatform, temporaryFolder, tokenOf, until } from './platform.ts'
import { millwright, npmStart } from './program.ts'
import { secretsHeldBy, secretsInFiles } from './secret-search.ts'

const password = `${plantedWord} of a person`
const credential = `${plantedWord} of a device`
/** A name that is not secret. The search must find this name, because otherwise the search itself does not work. */
const knownName = 'user-whose-name-is-not-secret'

/** The time between two requests during a rotation. Without it, the requests would use all of the processor time. */
const pauseMs = 100

describe('the keys of an installation', () => {
  const folder = temporaryFolder('keys')
  const home = join(folder.path, 'home')
  const backup = join(folder.path, 'backup')
  const planted: (string | Buffer)[] = [password, credential]
  let platform: Platform
  let instanceId: string

  before(async () => {
    platform = await startPlatform({ home })
  })

  after(async () => {
    await platform[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test('stores no secret in plain text in the database files, the write-ahead log or a dump', async () => {
    const { adminPassword, clientSecret } = platform.access
    planted.push(adminPassword, clientSecret, ...(await plantedThroughTheApi()))
    const dump = await asOwner(async (owner) => {
      planted.push(...(await keysThatSeal(owner)))
      return dumped(owner)
    })
    await platform.stop()

    const data = join(home, 'postgres', 'data')
    const looked = secretsInFiles(data, [...planted, knownName])
    const isOfName = (held: string) => held.includes(`: ${planted.length}, `)
    assert.deepEqual([looked.filter((held) => !isOfName(held)), secretsHeldBy(dump, planted)], [[], []])
    for (const place of ['/base/', '/pg_wal/'])
      assert.ok(
        looked.some((held) => held.includes(place)),
        place,
      )
    assert.ok(secretsHeldBy(dump, [knownName]).length > 0, 'the name that is not secret is found everywhere')
    assert.ok(planted.length === 11 && planted.every((secret) => secret.length >= 16))
    assert.equal(spawnSync('cp', ['-a', home, backup]).status, 0)
    platform = await startPlatform({ home })
  })

  test('rotates keys of a running platform without failed requests, and reports the rotation', async () => {
    const first = await status()
    await using use = useContinually()
    assert.match(
      await succeed('keys', 'rotate-master'),
      /^Done: \d+ keys wrapped by master key [0-9a-f]{16}\. Back up the master key now/,
    )
    assert.match(
      await succeed('keys', 'rotate-data'),
      /default: key 2 in use; \d+ values? encrypted again, 1 key retired/,
    )
    assert.match(await succeed('keys', 'rotate-data', '--tenant', 'default'), /default: key 3 in use; /)
    await until('requests ran for a while', () => use.calls() > 10)
    await use.stop()
    assert.deepEqual(use.failures, [])

    const now = await status()
    assert.deepEqual(
      now.master.map(({ place, state }) => `${place} ${state}`),
      ['file current', 'file not used'],
    )
    assert.equal(now.master[1]?.id, first.master[0]?.id)
    assert.deepEqual(
      now.data.map(({ version, state, sealed }) => ({ version, state, sealed })),
      [
        { version: 1, state: 'retired', sealed: 0 },
        { version: 2, state: 'retired', sealed: 0 },
        { version: 3, state: 'current', sealed: 1 },
      ],
    )
    const caller = await callerOf(platform)
    for (const action of ['keys.rotateMaster', 'keys.rotateData']) {
      assert.ok((await caller.audit.listEntries({ query: { action } })).data.length > 0, action)
    }
    assert.equal((await caller.audit.verify({})).data.intact, true)
  })

  test('deletes old master keys after a confirmation, and works with only the current master key', async () => {
    const keyFile = join(home, 'master.key')
    const { code, stderr } = await millwright(['keys', 'forget-master'], { home }).ended
    assert.equal(code, 2)
    assert.match(stderr, /To confirm, pass --yes/)
    assert.match(await succeed('keys', 'forget-master', '--yes'), /^Deleted: [0-9a-f]{16}\.$/m)
    assert.deepEqual([statSync(keyFile).mode & 0o777, readFileSync(keyFile, 'utf8').split('\n').length], [0o600, 2])
    await platform.stop()
    platform = await startPlatform({ home })
    await useOnce(platform)
  })

  test('restores an older backup only with the master key from the time of the backup', async () => {
    await platform.stop()
    copyFileSync(join(backup, 'master.key'), join(folder.path, 'old.key'))
    copyFileSync(join(home, 'master.key'), join(backup, 'master.key'))
    const refused = await npmStart({ home: backup }).ended
    assert.match(
      refused.stderr.trim(),
      /^The master key does not match this database, which uses key [0-9a-f]{16}: put master\.key back/,
    )
    copyFileSync(join(folder.path, 'old.key'), join(backup, 'master.key'))
    await using restored = await startPlatform({ home: backup })
    await useOnce(restored)
  })

  test('keys rotate-master --help explains the setting for the previous master key', async () => {
    assert.match(await succeed('keys', 'rotate-master', '--help'), /MILLWRIGHT_MASTER_KEY_PREVIOUS=<old>/)
  })

  async function plantedThroughTheApi(): Promise<string[]> {
    const caller = await callerOf(platform)
    await caller.identity.createUser({
      body: { data: { name: knownName, password } },
      headers: { 'idempotency-key': 'plant' },
    })
    const program = await caller.identity.createServerUser({ body: { data: { name: 'robot' } } })
    const signedIn = await signIn(platform.baseUrl, { name: knownName, password })
    assert.ok('token' in signedIn)
    const { data: schema } = await caller.credentials.createSchema({
      query: { resourceIdentifier: 'example.link', resourceVersion: '1.0.0' },
      body: { data: { uri: 'https://plant.example/credentials/any', schema: credentialSchema } },
    })
    const values = { username: 'operator', password: credential }
    const made = await caller.credentials.createInstance({
      body: { data: { schemaId: schema.id, name: 'line 1', values, metadata: { ipRanges: ['192.0.2.0/24'] } } },
    })
    instanceId = made.data.id
    return [program.data.clientSecret, caller.token, signedIn.token]
  }

  /** Decrypts the master key, the data keys and the private signing key, as an attacker with the master key could. */
  async function keysThatSeal(owner: Awaited<ReturnType<typeof openClient>>): Promise<(string | Buffer)[]> {
    const masterKeys = await openMasterKeys(readCloudConfiguration({ MILLWRIGHT_HOME: home }), home)
    const secrets = await openSecrets(owner, masterKeys)
    const signing = await owner.query('select kid, sealed_private_jwk as sealed from signing_keys')
    const jwk = JSON.parse(
      (await secrets.open(signing.rows[0].sealed, `signing-key/${signing.rows[0].kid}`)).toString(),
    )
    const data = await owner.query('select tenant_id, id, master_key_id, wrapped from data_keys')
    const { tenant_id, id, master_key_id, wrapped } = data.rows[0]
    const dataKey = masterKeys.unwrap(master_key_id, wrapped, wrappedFor(tenant_id, id)).export()
    const masterKey = Buffer.from(readFileSync(join(home, 'master.key'), 'utf8'), 'base64')
    return [jwk.d, Buffer.from(jwk.d, 'base64url'), dataKey, masterKey]
  }

  async function asOwner<Result>(
    work: (owner: Awaited<ReturnType<typeof openClient>>) => Promise<Result>,
  ): Promise<Result> {
    const server = attachPostgres({ home }) ?? assert.fail('there is no database')
    const owner = await openClient(embeddedOwner(server))
    try {
      return await work(owner)
    } finally {
      await owner.end()
    }
  }

  async function succeed(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand(args, { home })
    assert.equal(code, 0, stderr)
    return stdout
  }

  type Status = Record<
    'master' | 'data',
    { id: string; place: string; state: string; version: number; sealed: number }[]
  >

  async function status(): Promise<Status> {
    const key = readFileSync(join(home, 'master.key'), 'utf8').split('\n')[0] ?? ''
    const shown = await succeed('keys', 'status', '--json')
    assert.ok(!shown.includes(key), 'the key shows')
    return JSON.parse(shown)
  }

  /** Decrypts and encrypts a value again, with a new token. */
  async function useOnce(where: Platform): Promise<void> {
    const caller = await callerOf(where, await tokenOf(where.baseUrl, where.access))
    const params = { instanceId }
    const values = { username: `operator ${Math.random()}`, password: '***' }
    await caller.credentials.updateInstance({ params, body: { data: { values } } })
    assert.equal((await caller.identity.userInfo({})).tenant_name, 'default')
  }

  function useContinually() {
    const failures: unknown[] = []
    let [calls, goesOn] = [0, true]
    const use = async () => {
      while (goesOn && failures.length < 3) {
        await useOnce(platform).catch((error: unknown) => failures.push(error))
        calls++
        await delay(pauseMs)
      }
    }
    const over = use()
    const stop = async () => {
      goesOn = false
      await over
    }
    return { failures, calls: () => calls, stop, [Symbol.asyncDispose]: stop }
  }
})

const credentialSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { username: { type: 'string' }, password: { type: 'string', writeOnly: true } },
  required: ['username', 'password'],
}

/** Returns every row of every table as text, like a logical backup. */
async function dumped(owner: Awaited<ReturnType<typeof openClient>>): Promise<Buffer> {
  const tables = await owner.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`,
  )
  const parts: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await owner.query<{ text: string }>(`select t::text as text from ${name} t`)
    parts.push(name, ...rows.map(({ text }) => text))
  }
  return Buffer.from(parts.join('\n'))
}
