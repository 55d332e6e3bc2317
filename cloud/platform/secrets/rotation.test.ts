import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { sealedSigningKeys } from '../../services/identity/signing-keys/signing-keys.ts'
import { rightPassword } from '../../services/identity/testing.ts'
import { verifyChain } from '../audit/verification.ts'
import type { Owner } from '../database/owner-transaction.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { keyFile, makeNotes, notes, readNote, rewriteNote, sealedNote, writeNote } from '../testing/sealed-notes.ts'
import { keysFor, testMasterKey } from '../testing/server.ts'
import { retirePlatformKeys, rotateDataKey, rotatePlatformKey } from './data-rotation.ts'
import { MasterKeys } from './master-keys.ts'
import { rotateMasterKey } from './master-rotation.ts'
import { openSecrets } from './opening.ts'
import { keyIdOf, Safe } from './safe.ts'

const skip = process.env.MILLWRIGHT_TEST_DATABASE_URL !== undefined && 'others use the same keys'
const columns = [notes, sealedSigningKeys]

describe('master key from the environment', { skip }, () => {
  test('rotates a master key from the environment without interrupting processes that have both keys', async () => {
    await using hub = await testHub({ own: true, arrangement: 'one process' })
    await hub.asOwner((owner) => makeNotes(owner, 'millwright_test_app'))
    const id = await writeNote(hub.context, hub.tenant, 'from before')
    const fresh = randomBytes(32).toString('base64')
    const openKeys = (...keys: string[]) =>
      MasterKeys.open({ file: '/nowhere/master.key', environmentKeys: keys, transit: undefined })
    const seenWith = async (masterKeys: MasterKeys) => {
      await hub.asOwner((owner) => openSecrets(owner, masterKeys))
      return readNote({ ...hub.context, safe: new Safe({ ...hub.context, masterKeys }) }, hub.tenant, id)
    }
    const both = await openKeys(fresh, testMasterKey)
    const tenant = await hub.anotherTenant()
    const early = new Safe({ ...hub.context, masterKeys: both })
    const note = await writeNote({ ...hub.context, safe: early }, tenant, 'of a new tenant')
    assert.equal(await readNote(hub.context, tenant, note), 'of a new tenant', 'until it is used, the old one wraps')

    const done = await hub.asOwner((owner) => rotateMasterKey(owner, { masterKeys: both }))
    assert.equal(done.to, both.newest)
    assert.equal(await seenWith(await openKeys(fresh)), 'from before')
    assert.equal(await readNote(hub.context, hub.tenant, id), 'from before', 'who has it in memory goes on')
    await assert.rejects(seenWith(await openKeys(testMasterKey)), /does not match this database/)
    await hub.asOwner(async (owner) => {
      await assert.rejects(rotateMasterKey(owner, { masterKeys: both }), /Set MILLWRIGHT_MASTER_KEY to the new key/)
      await owner.query('select pg_advisory_lock(x) from (values (1835758191)) as v (x)')
      const second = hub.asOwner((other) => rotateMasterKey(other, { masterKeys: both }))
      await assert.rejects(second, /Another key rotation is in progress/)
    })
  })
})

for (const arrangement of ['one process', 'split'] as const) {
  describe(`key rotation (${arrangement})`, { skip }, () => {
    let file: Awaited<ReturnType<typeof keyFile>>
    let hub: TestHub

    before(async () => {
      file = await keyFile(testMasterKey)
      hub = await testHub({ own: true, arrangement, masterKeyFile: file.path })
      await hub.asOwner((owner) => makeNotes(owner, 'millwright_test_app'))
    })

    after(async () => {
      await hub[Symbol.asyncDispose]()
      await file[Symbol.asyncDispose]()
    })

    /** Runs the work with the keys of a separate process, like the command line does. */
    const asOperator = <Result>(work: (owner: Owner, masterKeys: MasterKeys) => Promise<Result>) =>
      hub.asOwner(async (owner) =>
        work(owner, await MasterKeys.open({ file: file.path, environmentKeys: [], transit: undefined })),
      )

    test('completes requests that seal, open, sign, authenticate or call another process during a key rotation', async () => {
      const admin = await hub.as('administrator')
      const contexts = hub.clouds.map(({ context }) => context)
      const ids = await Promise.all(
        Array.from({ length: 40 }, (_, index) => writeNote(hub.context, hub.tenant, `note ${index}`)),
      )
      let going = true
      let answers = 0
      const keep = async (work: (round: number) => Promise<unknown>) => {
        for (let round = 0; going; round++) {
          await work(round)
          answers++
        }
      }
      const reading = contexts.map((context, part) =>
        keep(async (round) => {
          const index = (round * 7 + part) % ids.length
          assert.equal(await readNote(context, hub.tenant, ids[index] ?? ''), `note ${index}`)
        }),
      )
      const writing = contexts.map((context, part) =>
        keep(async (round) => {
          const index = (round * 3 + part) % ids.length
          await untilFree(() => rewriteNote(context, hub.tenant, { id: ids[index] ?? '', text: `note ${index}` }))
        }),
      )
      const requests = keep(async (round) => {
        const made = await admin.exchange(identity, 'createServerUser', {
          body: { data: { name: `robot-${round}` } },
          headers: { 'idempotency-key': `make ${round}` },
        })
        assert.equal(made.status, 201)
        const verification = await admin.audit.verify({})
        assert.equal(verification.data.intact, true)
        await hub.settle()
      })
      for (let round = 0; round < 3; round++) {
        await asOperator((owner, masterKeys) => rotateMasterKey(owner, { masterKeys }))
        await asOperator(async (owner, masterKeys) => {
          const safe = new Safe({ database: hub.context.database, masterKeys })
          const done = await rotateDataKey(owner, { tenantId: hub.tenant.tenantId, safe, columns })
          assert.equal(done.retired, 1)
        })
        await asOperator((owner, masterKeys) => rotatePlatformKey(owner, { masterKeys, columns, activeInSeconds: 2 }))
        await turn()
      }
      going = false
      await Promise.all([...reading, ...writing, requests])
      assert.ok(answers > 30, `only ${answers} answers`)
      for (const id of ids) {
        const keyId = keyIdOf(await sealedNote(hub.context, hub.tenant, id))
        const newest = await newestKey()
        assert.equal(keyId, newest, 'everything is sealed with the newest key')
      }
    })

    test('opens all sealed values with only the new master key after a restart', async () => {
      const id = await writeNote(hub.context, hub.tenant, 'for later')
      const { to } = await asOperator((owner, masterKeys) => rotateMasterKey(owner, { masterKeys }))
      await asOperator(async (_, masterKeys) => {
        await masterKeys.forget((other) => other !== to)
      })
      await using later = await hub.sibling({ masterKeyFile: file.path, arrangement: 'one process' })
      assert.equal(await readNote(later.context, hub.tenant, id), 'for later')
      assert.ok(await later.keys.signing())
      await assert.rejects(keysFor(hub.database.owner), /does not match this database/)
    })

    test('retires an expired platform key and keeps the audit chain intact', async () => {
      const admin = await hub.as('administrator')
      await admin.identity.createUser({ body: { data: { name: 'eve', password: rightPassword } } })
      await hub.settle()
      await asOperator((owner, masterKeys) => rotatePlatformKey(owner, { masterKeys, columns, activeInSeconds: 0 }))
      await hub.asOwner((owner) =>
        owner.query('update platform_keys set retires_at = now(), active_from = now() where retires_at is not null'),
      )
      const { secrets } = await keysFor(hub.database.owner, file.path)
      const retired = await hub.asOwner((owner) => retirePlatformKeys(owner, { secrets, columns }))
      assert.ok(retired > 0)
      const { rows } = await hub.asOwner((owner) => owner.query('select version from platform_keys'))
      assert.equal(rows.length, 1)
      const { secrets: fresh } = await keysFor(hub.database.owner, file.path)
      const verification = await verifyChain({ database: hub.context.database, secrets: fresh }, hub.tenant)
      assert.deepEqual([verification.intact, verification.firstFault], [true, null])
    })

    async function newestKey(): Promise<string> {
      const { rows } = await hub.asOwner((owner) =>
        owner.query<{ id: string }>('select id from data_keys where tenant_id = $1 order by version desc limit 1', [
          hub.tenant.tenantId,
        ]),
      )
      return rows[0]?.id ?? ''
    }
  })
}

/** Repeats a write while another transaction holds the row for longer than the lock timeout. */
async function untilFree(write: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await write()
      return
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'overloaded')) throw error
    }
  }
}
