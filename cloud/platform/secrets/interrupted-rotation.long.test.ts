import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createCipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyHead, headMessage } from '../audit/chain.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { keyFile, makeNotes, readNote, writeNote } from '../testing/sealed-notes.ts'
import { keysFor, testMasterKey } from '../testing/server.ts'
import { keyStatus } from './key-status.ts'
import { MasterKeys } from './master-keys.ts'
import { openSecrets } from './opening.ts'
import { Safe } from './safe.ts'

const skip = process.env.MILLWRIGHT_TEST_DATABASE_URL !== undefined && 'others use the same keys'

/** A program that rotates keys like the command line does, and kills itself at one step. */
const program = `
  const [owner, file, kind, tenantId, last] = process.argv.slice(1)
  const at = (path) => import(new URL(path, ${JSON.stringify(import.meta.url)}))
  const { openClient } = await at('../database/connection.ts')
  const { MasterKeys } = await at('./master-keys.ts')
  const { Safe } = await at('./safe.ts')
  const { notes } = await at('../testing/sealed-notes.ts')
  const masterKeys = await MasterKeys.open({ file, environmentKeys: [], transit: undefined })
  const client = await openClient(JSON.parse(owner))
  let step = 0
  const onStep = () => { if (++step === Number(last)) process.kill(process.pid, 'SIGKILL') }
  if (kind === 'master') await (await at('./master-rotation.ts')).rotateMasterKey(client, { masterKeys, onStep })
  else {
    const safe = new Safe({ database: undefined, masterKeys })
    await (await at('./data-rotation.ts')).rotateDataKey(client, { tenantId, safe, columns: [notes], onStep })
  }
  await client.end()
`

describe('interrupted key rotation', { skip }, () => {
  let file: Awaited<ReturnType<typeof keyFile>>
  let hub: TestHub
  let ids: string[]

  before(async () => {
    file = await keyFile(testMasterKey)
    hub = await testHub({ own: true, arrangement: 'one process', masterKeyFile: file.path })
    await hub.asOwner((owner) => makeNotes(owner, 'millwright_test_app'))
    ids = await Promise.all(Array.from({ length: 3 }, (_, n) => writeNote(hub.context, hub.tenant, `note ${n}`)))
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await file[Symbol.asyncDispose]()
  })

  async function rotate(kind: 'master' | 'data', killedAt: number): Promise<boolean> {
    const programArguments = [
      JSON.stringify(hub.database.owner),
      file.path,
      kind,
      hub.tenant.tenantId,
      String(killedAt),
    ]
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, '--', ...programArguments], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code, signal] = await once(child, 'exit')
    assert.ok(signal === 'SIGKILL' || code === 0, `ended with ${code ?? signal}`)
    return code === 0
  }

  /** Checks that all values can be read, by a process that starts now and by a process that ran during the rotation. */
  async function requireWorking(): Promise<void> {
    const { masterKeys } = await keysFor(hub.database.owner, file.path)
    const started = { database: hub.context.database, safe: new Safe({ ...hub.context, masterKeys }) }
    for (const [n, id] of ids.entries()) {
      assert.equal(await readNote(started, hub.tenant, id), `note ${n}`)
      assert.equal(await readNote(hub.context, hub.tenant, id), `note ${n}`)
    }
    const id = await writeNote(hub.context, hub.tenant, 'written meanwhile')
    assert.equal(await readNote(started, hub.tenant, id), 'written meanwhile')
  }

  for (const kind of ['master', 'data'] as const) {
    test(`reads all values after a ${kind} key rotation is interrupted at any step, and completes the next rotation`, async () => {
      let steps = 0
      while (!(await rotate(kind, ++steps))) await requireWorking()
      await requireWorking()
      assert.ok(steps > 3, `only ${steps} steps`)
      const { masterKeys } = await keysFor(hub.database.owner, file.path)
      const status = await hub.asOwner((owner) => keyStatus(owner, { masterKeys, columns: [] }))
      assert.deepEqual(
        [...status.master, ...status.data].filter(({ state }) => state === 'being replaced'),
        [],
      )
      assert.ok((await readFile(file.path, 'utf8')).includes(testMasterKey), 'the old key is there for old backups')
    })
  }
})

describe('installation without platform keys', { skip }, () => {
  test('opens values sealed before platform keys existed, and refuses another master key', async () => {
    await using hub = await testHub({ own: true, arrangement: 'one process' })
    const derive = (purpose: string) =>
      Buffer.from(hkdfSync('sha256', Buffer.from(testMasterKey, 'base64'), 'millwright', purpose, 32))
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', derive('seal'), nonce).setAAD(Buffer.from('signing-key/a'))
    const sealed = Buffer.concat([Buffer.of(1), nonce, cipher.update('{"d":1}'), cipher.final(), cipher.getAuthTag()])
    const { tenantId } = hub.tenant
    const mac = createHmac('sha256', derive('audit')).update(headMessage(tenantId, emptyHead)).digest()
    await hub.asOwner(async (owner) => {
      await owner.query('delete from platform_secrets; delete from platform_keys; delete from master_keys')
      await owner.query(
        `insert into audit_heads (tenant_id, sequence, hash, mac) values ($1, 0, decode($2, 'hex'), $3)
        on conflict (tenant_id) do update set mac = excluded.mac, sequence = 0, hash = excluded.hash`,
        [tenantId, emptyHead.hash, mac],
      )
      const other = await MasterKeys.open({
        file: '/nowhere/master.key',
        environmentKeys: [randomBytes(32).toString('base64')],
        transit: undefined,
      })
      await assert.rejects(openSecrets(owner, other), /The master key does not match/)
    })
    const { secrets } = await keysFor(hub.database.owner)
    assert.equal((await secrets.open(sealed, 'signing-key/a')).toString(), '{"d":1}')
    assert.ok(secrets.isMac('audit', headMessage(tenantId, emptyHead), mac))
  })
})
