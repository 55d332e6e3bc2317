import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Transaction } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { keyIdOf } from './safe.ts'

const keyCount = statement<{ total: number }>('select count(*)::integer as total from data_keys where tenant_id = $1')

describe('Safe', () => {
  let hub: TestHub

  before(async () => {
    hub = await testHub()
  })

  after(() => hub[Symbol.asyncDispose]())

  const seal = (plain: string, belongsTo: string) =>
    hub.context.database.transaction(hub.tenant, (tx) => hub.context.safe.seal(tx, plain, belongsTo))

  test('opens a sealed value only for its tenant and its purpose', async () => {
    const { safe } = hub.context
    const other = await hub.anotherTenant()
    const sealed = await seal('the secret', 'row/1')
    assert.equal((await safe.open(hub.tenant, sealed, 'row/1')).toString(), 'the secret')
    assert.notDeepEqual(await seal('the secret', 'row/1'), sealed)
    await assert.rejects(safe.open(hub.tenant, sealed, 'row/2'))
    await assert.rejects(safe.open(other, sealed, 'row/1'))
    const elsewhere = (await hub.sibling()) as TestHub
    await assert.rejects(elsewhere.context.safe.open(other, sealed, 'row/1'), /does not exist/)
    assert.equal((await elsewhere.context.safe.open(hub.tenant, sealed, 'row/1')).toString(), 'the secret')
    await elsewhere[Symbol.asyncDispose]()
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed)
      changed[i] = (changed[i] ?? 0) ^ 1
      await assert.rejects(safe.open(hub.tenant, changed, 'row/1'), `byte ${i}`)
    }
    await assert.rejects(safe.open(hub.tenant, Buffer.from('not sealed at all'), 'row/1'))
  })

  test('creates one data key for a tenant when several processes seal its first values', async () => {
    const tenant = await hub.anotherTenant()
    await using second = await hub.sibling()
    const processes = [hub.context, second.context]
    const sealed = await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        const { database, safe } = processes[index % 2] ?? hub.context
        return database.transaction(tenant, (tx) => safe.seal(tx, `value ${index}`, 'row'))
      }),
    )
    const rows = await hub.context.database.read(tenant, (handle) => handle.row(keyCount))
    assert.equal(rows?.total, 1)
    for (const [index, value] of sealed.entries()) {
      for (const { safe } of processes) {
        assert.equal((await safe.open(tenant, value, 'row')).toString(), `value ${index}`)
      }
    }
  })

  test('never uses a data key whose transaction was rolled back', async () => {
    const tenant = await hub.anotherTenant()
    const { database, safe } = hub.context
    let lost: Buffer = Buffer.alloc(0)
    await assert.rejects(
      database.transaction(tenant, async (tx) => {
        lost = await safe.seal(tx, 'x', 'row')
        throw new Error('changed my mind')
      }),
    )
    const sealed = await database.transaction(tenant, (tx) => safe.seal(tx, 'y', 'row'))
    assert.notEqual(keyIdOf(sealed), keyIdOf(lost))
    await using other = await hub.sibling()
    assert.equal((await other.context.safe.open(tenant, sealed, 'row')).toString(), 'y')
  })

  test('seals a value with one statement and opens it without a statement when the data key is cached', async () => {
    const sealed = await seal('warm', 'row')
    const { database, safe } = hub.context
    // Only statements that concern keys count, because background tasks send other statements.
    const count = async (work: () => Promise<unknown>) =>
      (await hub.statements(work)).filter(({ text }) => /\b(data_keys|master_keys)\b/.test(text)).length
    const twice = (tx: Transaction) => safe.seal(tx, 'x', 'row')
    assert.equal(await count(() => database.transaction(hub.tenant, twice)), 1)
    assert.equal(await count(() => safe.open(hub.tenant, sealed, 'row')), 0)
  })

  test('does not let the application change a data key, or delete one that is in use', async () => {
    await seal('x', 'row')
    const refused = async (text: string) => {
      const work = hub.context.database.transaction(hub.tenant, (tx) => tx.run(statement(text)))
      return work.then(
        (rows) => assert.equal(rows, 0, text),
        (error) => assert.equal(error.code, '42501', text),
      )
    }
    await refused('update data_keys set version = version + 1 where tenant_id = $1')
    await refused(`update data_keys set wrapped = '\\x00' where tenant_id = $1`)
    await refused('delete from data_keys where tenant_id = $1')
    const update = hub.context.database.reference((handle) => handle.run(statement(`update master_keys set id = 'x'`)))
    await assert.rejects(update, { code: '42501' })
    const look = hub.context.database.reference((handle) =>
      handle.rows(statement('select sealed from platform_secrets')),
    )
    await assert.rejects(look, { code: '42501' })
  })
})
