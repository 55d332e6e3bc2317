import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v7 } from 'uuid'
import { Database, type Transaction } from '../database/database.ts'
import { lowestIdAt } from '../database/id.ts'
import { statement, timePlus } from '../database/statement.ts'
import { type TestHub, type TestTenant, testHub } from '../testing/hub.ts'
import { type Actor, record, recordOutside } from './audit.ts'
import { type Content, emptyHead, extend } from './chain.ts'
import { verifyChain } from './verification.ts'

const actor: Actor = {
  principal: { id: v7(), kind: 'user', name: 'ada' },
  request: { id: 'request-1', address: '192.0.2.7' },
}

function write(tx: Transaction, action = 'test.write'): Promise<void> {
  return record(tx, actor, {
    action,
    target: 'thing/1',
    detail: { b: 1, a: [1.5, 'ü', null], nested: { z: 1, y: 2 } },
  })
}

async function writeMany(hub: TestHub, { tenant, count }: { tenant: TestTenant; count: number }): Promise<void> {
  await hub.context.database.transaction(tenant, async (tx) => {
    for (let i = 0; i < count; i++) await write(tx, `test.write${i}`)
  })
  await hub.settle(tenant.tenantId)
}

function verify(hub: TestHub, tenant = hub.tenant) {
  return verifyChain(hub.context, tenant)
}

type Owner = Parameters<Parameters<TestHub['asOwner']>[0]>[0]

test('seals audit entries soon after their commit', async () => {
  await using hub = await testHub()
  await writeMany(hub, { tenant: hub.tenant, count: 3 })
  const { intact, checked, head, firstFault } = await verify(hub)
  assert.deepEqual({ intact, checked, firstFault }, { intact: true, checked: 3, firstFault: null })
  assert.equal(head?.sequence, 3)
})

test('records no audit entry of a rolled back transaction, and records a refusal outside the transaction', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  await assert.rejects(
    database.transaction(hub.tenant, async (tx) => {
      await write(tx)
      throw new Error('refused')
    }),
  )
  await recordOutside(database, hub.tenant, actor, { action: 'test.write', outcome: 'denied' })
  await hub.settle()
  const rows = await hub.asOwner(async (owner) => {
    const { rows } = await owner.query('select outcome from audit_entries where tenant_id = $1', [hub.tenant.tenantId])
    return rows
  })
  assert.deepEqual(rows, [{ outcome: 'denied' }])
})

test('replaces unstorable characters in names and details of audit entries', async () => {
  await using hub = await testHub()
  const hostile = 'a\0b\ud800c\\u0000'
  const who = { principal: { id: null, kind: 'user', name: hostile.repeat(200) }, request: actor.request } as const
  const detail = { [hostile]: hostile, ['__proto__']: 1, big: 1e300, small: 5e-324, text: '\\ud800' }
  await hub.context.database.transaction(hub.tenant, (tx) =>
    record(tx, who, { action: 'test.write', target: hostile, detail }),
  )
  await hub.settle()
  assert.equal((await verify(hub)).intact, true)
  const rows = await hub.asOwner(async (owner) => {
    const { rows } = await owner.query<Content>('select target, detail from audit_entries where tenant_id = $1', [
      hub.tenant.tenantId,
    ])
    return rows
  })
  const kept = 'a\ufffdb\ufffdc\\u0000'
  assert.equal(rows[0]?.target, kept)
  assert.equal((rows[0]?.detail as Record<string, unknown> | undefined)?.[kept], kept)
})

test('seals the audit entries of two hundred writers into one chain without gaps, with two sealers', async () => {
  await using hub = await testHub()
  await using sibling = await hub.sibling()
  const processes = [hub, sibling]
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const { database } = (processes[index % 2] ?? hub).context
      await database.transaction(hub.tenant, (tx) => write(tx))
      if (index % 20 === 0) await (processes[(index / 20) % 2] ?? hub).settle()
    }),
  )
  await Promise.all(processes.map((process) => process.settle()))
  const { intact, checked, firstFault } = await verify(hub)
  assert.deepEqual({ intact, checked, firstFault }, { intact: true, checked: 200, firstFault: null })
})

test('seals the audit entries of a process that ended before it sealed them', async () => {
  await using hub = await testHub()
  await hub.settle()
  // No worker receives the signals of commits of this `Database`.
  const dying = new Database({ address: hub.database.app, server: hub.database.server, connections: 1 })
  await dying.transaction(hub.tenant, (tx) => write(tx))
  await dying.close()
  await using next = await hub.sibling()
  await next.settle()
  assert.deepEqual(await verify(hub).then(({ intact, checked }) => ({ intact, checked })), { intact: true, checked: 1 })
})

test('seals audit entries of several batches in order', async () => {
  await using hub = await testHub()
  await writeMany(hub, { tenant: hub.tenant, count: 1_203 })
  assert.equal((await verify(hub)).checked, 1_203)
})

test('does not allow the application to change, delete or reseal an audit entry', async () => {
  await using hub = await testHub()
  await writeMany(hub, { tenant: hub.tenant, count: 2 })
  const { database } = hub.context
  const refused = [
    `update audit_entries set action = 'other' where tenant_id = $1`,
    `update audit_entries set detail = '{}' where tenant_id = $1`,
    `update audit_entries set time = now(), hash = hash where tenant_id = $1`,
    'delete from audit_entries where tenant_id = $1',
    'truncate audit_entries',
    'delete from audit_heads where tenant_id = $1',
  ]
  for (const text of refused) {
    const attempt = database.transaction(hub.tenant, (tx) =>
      text.includes('$1') ? tx.run(statement(text)) : tx.reference.run(statement(text)),
    )
    await assert.rejects(attempt, /permission denied/, text)
  }
  const again = statement(`update audit_entries set sequence = sequence + 10 where tenant_id = $1`)
  assert.equal(await database.transaction(hub.tenant, (tx) => tx.run(again)), 0)
  const unseal = statement(`update audit_entries set sequence = null, hash = null where tenant_id = $1`)
  assert.equal(await database.transaction(hub.tenant, (tx) => tx.run(unseal)), 0)
  const sealed = statement(
    `insert into audit_entries (tenant_id, id, time, action, outcome, principal_name, principal_kind, sequence)
     values ($1, $2, now(), 'x', 'done', 'x', 'user', 99)`,
  )
  await assert.rejects(
    database.transaction(hub.tenant, (tx) => tx.run(sealed, v7())),
    /row-level security/,
  )
  assert.equal((await verify(hub)).intact, true)
})

test('does not return or seal audit entries of another tenant', async () => {
  await using hub = await testHub()
  const other = await hub.anotherTenant()
  await writeMany(hub, { tenant: hub.tenant, count: 2 })
  await writeMany(hub, { tenant: other, count: 1 })
  assert.equal((await verify(hub)).checked, 2)
  assert.equal((await verify(hub, other)).checked, 1)
})

const content = `tenant_id as tenant, id, time, action, outcome, principal_id as principal,
  principal_name as "principalName", principal_kind as "principalKind", target, request_id as "requestId", address, detail`

/**
 * Rewrites all hashes so that they match each other. An attacker with the whole database but without the key could do
 * this.
 */
async function rewriteChain(owner: Owner, tenantId: string): Promise<void> {
  const { rows } = await owner.query<Content>(
    `select ${content} from audit_entries where tenant_id = $1 order by sequence`,
    [tenantId],
  )
  const links = extend(emptyHead, rows)
  for (const { id, hash } of links) {
    await owner.query(`update audit_entries set hash = decode($3, 'hex') where tenant_id = $1 and id = $2`, [
      tenantId,
      id,
      hash,
    ])
  }
  await owner.query(`update audit_heads set hash = decode($2, 'hex') where tenant_id = $1`, [
    tenantId,
    links.at(-1)?.hash,
  ])
}

const entry = 'tenant_id = $1 and sequence ='

const tamperings: [what: string, sequence: number, detail: RegExp, tamper: (owner: Owner, id: string) => unknown][] = [
  ...['action', 'principal_name', 'principal_kind', 'target', 'request_id', 'address'].map(
    (column): (typeof tamperings)[number] => [
      `a changed ${column}`,
      3,
      /changed/,
      (owner, id) => owner.query(`update audit_entries set ${column} = 'other' where ${entry} 3`, [id]),
    ],
  ),
  [
    'a changed outcome',
    1,
    /changed/,
    (owner, id) => owner.query(`update audit_entries set outcome = 'failed' where ${entry} 1`, [id]),
  ],
  [
    'a changed time',
    2,
    /changed/,
    (owner, id) =>
      owner.query(`update audit_entries set time = ${timePlus('time', "interval '-1 ms'")} where ${entry} 2`, [id]),
  ],
  [
    'a changed detail',
    5,
    /changed/,
    (owner, id) =>
      owner.query(`update audit_entries set detail = (detail::jsonb || '{"b":2}')::json where ${entry} 5`, [id]),
  ],
  [
    'a missing principal',
    4,
    /changed/,
    (owner, id) => owner.query(`update audit_entries set principal_id = null where ${entry} 4`, [id]),
  ],
  [
    'a missing hash',
    4,
    /changed/,
    (owner, id) => owner.query(`update audit_entries set hash = null where ${entry} 4`, [id]),
  ],
  [
    'a deleted entry',
    3,
    /Entry 3 was deleted/,
    (owner, id) => owner.query(`delete from audit_entries where ${entry} 3`, [id]),
  ],
  [
    'deletion of the first entries',
    1,
    /Entries 1 to 2 were deleted/,
    (owner, id) => owner.query('delete from audit_entries where tenant_id = $1 and sequence < 3', [id]),
  ],
  [
    'deletion of the last entries',
    4,
    /Entries 4 to 5 were deleted/,
    (owner, id) => owner.query('delete from audit_entries where tenant_id = $1 and sequence > 3', [id]),
  ],
  [
    'deletion of all entries',
    1,
    /Entries 1 to 5 were deleted/,
    (owner, id) => owner.query('delete from audit_entries where tenant_id = $1', [id]),
  ],
  [
    'deletion of the head',
    1,
    /was inserted after the head of the chain/,
    (owner, id) => owner.query('delete from audit_heads where tenant_id = $1', [id]),
  ],
  [
    'a head that was set to an earlier entry',
    4,
    /signature of the head of the chain is not valid/,
    async (owner, id) => {
      await owner.query(
        `update audit_heads set sequence = 4, hash = (select hash from audit_entries where ${entry} 4) where tenant_id = $1`,
        [id],
      )
    },
  ],
  [
    'an inserted entry',
    6,
    /inserted/,
    (owner, id) =>
      owner.query(
        `insert into audit_entries (tenant_id, id, time, action, outcome, principal_name, principal_kind, sequence, hash)
       select tenant_id, $2, time, action, outcome, principal_name, principal_kind, 6, hash from audit_entries where ${entry} 5`,
        [id, v7()],
      ),
  ],
  [
    'two swapped entries',
    2,
    /changed/,
    async (owner, id) => {
      await owner.query(`update audit_entries set sequence = -1 where ${entry} 2`, [id])
      await owner.query(`update audit_entries set sequence = 2 where ${entry} 3`, [id])
      await owner.query(`update audit_entries set sequence = 3 where ${entry} -1`, [id])
    },
  ],
  [
    'a chain that was rewritten together with its head',
    5,
    /signature of the head of the chain is not valid/,
    async (owner, id) => {
      await owner.query(`update audit_entries set action = 'other' where ${entry} 2`, [id])
      await rewriteChain(owner, id)
    },
  ],
  [
    'an entry that is not sealed in time',
    6,
    /is not sealed, although its sealing is overdue/,
    (owner, id) =>
      owner.query(
        `insert into audit_entries (tenant_id, id, time, action, outcome, principal_name, principal_kind)
       values ($1, $2, now(), 'x', 'done', 'x', 'user')`,
        [id, lowestIdAt(Date.now() - 120_000)],
      ),
  ],
]

test('detects manipulations by an attacker with access to the whole database', async (context) => {
  await using hub = await testHub()
  for (const [what, sequence, detail, tamper] of tamperings) {
    await context.test(`detects ${what}`, async () => {
      const tenant = await hub.anotherTenant()
      await writeMany(hub, { tenant, count: 5 })
      await hub.asOwner(async (owner) => tamper(owner, tenant.tenantId))
      const { intact, firstFault } = await verify(hub, tenant)
      assert.equal(intact, false)
      assert.match(firstFault?.detail ?? '', detail)
      assert.equal(firstFault?.sequence, sequence)
    })
  }
})

test('does not add entries to an audit chain whose head was forged', async () => {
  await using hub = await testHub()
  await writeMany(hub, { tenant: hub.tenant, count: 2 })
  await hub.asOwner((owner) => rewriteChainOf(owner, hub.tenant.tenantId))
  await writeMany(hub, { tenant: hub.tenant, count: 1 })
  const { intact, checked } = await verify(hub)
  assert.deepEqual({ intact, checked }, { intact: false, checked: 2 })
})

async function rewriteChainOf(owner: Owner, tenantId: string): Promise<void> {
  await owner.query(`update audit_entries set action = 'other' where ${entry} 1`, [tenantId])
  await rewriteChain(owner, tenantId)
}
