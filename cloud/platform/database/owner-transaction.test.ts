import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { testHub } from '../testing/hub.ts'
import { inTransaction } from './owner-transaction.ts'

const databaseError = (code: string, message: string) => Object.assign(new Error(message), { code })

describe('transactions of the database owner', () => {
  test('repeats a transaction after a deadlock, without the effects of the failed attempt', async () => {
    await using hub = await testHub()
    await hub.asOwner(async (owner) => {
      await owner.query('create temporary table attempts (number integer)')
      let attempt = 0
      const result = await inTransaction(owner, async () => {
        attempt++
        await owner.query('insert into attempts values ($1)', [attempt])
        if (attempt < 3) throw databaseError('40P01', 'deadlock detected')
        return 'done'
      })
      const { rows } = await owner.query('select number from attempts')
      assert.deepEqual([result, rows], ['done', [{ number: 3 }]])
    })
  })

  test('fails with `overloaded` when a transaction repeatedly ends in a deadlock', async () => {
    await using hub = await testHub()
    await hub.asOwner(async (owner) => {
      const work = () => Promise.reject(databaseError('40P01', 'deadlock detected'))
      await assert.rejects(inTransaction(owner, work), { code: 'overloaded' })
    })
  })

  test('names the worker of a cluster that is not reachable', async () => {
    await using hub = await testHub()
    await hub.asOwner(async (owner) => {
      const message = 'connection to the remote node owner@10.0.0.7:5432 failed with the following error: refused'
      const work = () => Promise.reject(databaseError('08006', message))
      await assert.rejects(inTransaction(owner, work), {
        code: 'unavailable',
        message: /server 10\.0\.0\.7:5432 .*Start/,
      })
    })
  })
})
