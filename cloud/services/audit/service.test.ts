import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { type Actor, record } from '../../platform/audit/audit.ts'
import { verifyExport } from '../../platform/audit/chain.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const ada: Actor = {
  principal: { id: v7(), kind: 'user', name: 'ada' },
  request: { id: 'request-ada', address: undefined },
}
const bob: Actor = {
  principal: { id: v7(), kind: 'user', name: 'bob' },
  request: { id: 'request-bob', address: '192.0.2.1' },
}

/**
 * Creates twelve entries: bob is the author of every third entry, every fourth entry is denied, and the targets 0 to 2
 * alternate.
 */
async function fill(hub: TestHub, tenant = hub.tenant): Promise<void> {
  for (let i = 0; i < 12; i++) {
    await hub.context.database.transaction(tenant, (tx) =>
      record(tx, i % 3 === 0 ? bob : ada, {
        action: i < 6 ? 'test.first' : 'test.second',
        target: `thing/${i % 3}`,
        ...(i % 4 === 0 && { outcome: 'denied' }),
        detail: { i },
      }),
    )
  }
  await hub.settle(tenant.tenantId)
}

function numbers(entries: { detail: Record<string, unknown> }[]): unknown[] {
  return entries.map(({ detail }) => detail.i)
}

function isProblem(code: string): (error: unknown) => boolean {
  return (error) => (error as Problem).code === code
}

type Query = NonNullable<NonNullable<Parameters<TestCaller['audit']['listEntries']>[0]>['query']>

async function walk(caller: TestCaller, query: Query): Promise<unknown[]> {
  const seen: unknown[] = []
  let next: { cursor?: string } = {}
  do {
    const { data, meta } = await caller.audit.listEntries({ query: { ...query, ...next } })
    seen.push(...numbers(data))
    next = meta.nextCursor === undefined ? {} : { cursor: meta.nextCursor }
  } while (next.cursor !== undefined)
  return seen
}

test('lists audit entries newest first, with principal, action, time and address', async () => {
  await using hub = await testHub()
  await fill(hub)
  const admin = await hub.as('administrator')
  const { data, meta } = await admin.audit.listEntries({})
  assert.deepEqual(numbers(data), [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
  assert.deepEqual(meta, { totalElements: 12, elements: 12, offset: 0 })
  const { id = '', time = '', ...newest } = data[2] ?? {}
  assert.deepEqual(newest, {
    sequence: 10,
    action: 'test.second',
    outcome: 'done',
    principal: bob.principal.id,
    principalName: 'bob',
    principalKind: 'user',
    target: 'thing/0',
    requestId: 'request-bob',
    address: '192.0.2.1',
    detail: { i: 9 },
  })
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000)
  assert.deepEqual((await admin.audit.readEntry({ params: { id } })).data, data[2])
  await assert.rejects(admin.audit.readEntry({ params: { id: v7() } }), isProblem('not_found'))
})

test('applies single and combined filters to the list and the count of audit entries', async () => {
  await using hub = await testHub()
  await fill(hub)
  const admin = await hub.as('administrator')
  const all = (await admin.audit.listEntries({})).data.toReversed()
  const cases: [Query, number[]][] = [
    [{ action: 'test.first' }, [5, 4, 3, 2, 1, 0]],
    [{ outcome: 'denied' }, [8, 4, 0]],
    [{ outcome: 'done', action: 'test.first' }, [5, 3, 2, 1]],
    [{ principal: bob.principal.id ?? '' }, [9, 6, 3, 0]],
    [{ target: 'thing/1' }, [10, 7, 4, 1]],
    [{ requestId: 'request-bob', action: 'test.second' }, [9, 6]],
    [{ target: 'thing/1', outcome: 'denied', action: 'test.first', requestId: 'request-ada' }, [4]],
    [{ target: 'nothing' }, []],
    [{ outcome: 'failed' }, []],
  ]
  for (const [query, expected] of cases) {
    const { data, meta } = await admin.audit.listEntries({ query })
    assert.deepEqual([numbers(data), meta.totalElements], [expected, expected.length], JSON.stringify(query))
    assert.deepEqual(await walk(admin, { ...query, limit: 2 }), expected)
  }
  const from = all[3]?.time ?? ''
  const to = all[9]?.time ?? ''
  const between = all.filter(({ time }) => time >= from && time < to)
  assert.deepEqual(
    numbers((await admin.audit.listEntries({ query: { from, to } })).data),
    numbers(between.toReversed()),
  )
})

test('returns the same pages of audit entries by offset and by cursor, even if new entries are added', async () => {
  await using hub = await testHub()
  await fill(hub)
  const admin = await hub.as('administrator')
  const first = await admin.audit.listEntries({ query: { limit: 5 } })
  assert.deepEqual(numbers(first.data), [11, 10, 9, 8, 7])
  await hub.context.database.transaction(hub.tenant, (tx) =>
    record(tx, ada, { action: 'test.third', detail: { i: 12 } }),
  )

  const cursor = first.meta.nextCursor ?? ''
  const second = await admin.audit.listEntries({ query: { limit: 5, cursor } })
  assert.deepEqual(numbers(second.data), [6, 5, 4, 3, 2])
  assert.equal(second.meta.totalElements, 13)
  const byOffset = await admin.audit.listEntries({ query: { limit: 5, offset: 6 } })
  assert.deepEqual(numbers(byOffset.data), [6, 5, 4, 3, 2])
  assert.deepEqual(byOffset.meta.offset, 6)
})

test('refuses a list cursor of another query, of another tenant or with a wrong signature', async () => {
  await using hub = await testHub()
  await fill(hub)
  const admin = await hub.as('administrator')
  const { meta } = await admin.audit.listEntries({ query: { limit: 5 } })
  const cursor = meta.nextCursor ?? ''
  const other = await hub.anotherTenant()
  const stranger = await hub.as('administrator', { tenant: other })
  const attempts = [
    () => admin.audit.listEntries({ query: { cursor, action: 'test.first' } }),
    () => stranger.audit.listEntries({ query: { cursor } }),
    () => admin.audit.listEntries({ query: { cursor: 'nonsense' } }),
    () => admin.audit.listEntries({ query: { cursor: '' } }),
    () => admin.audit.listEntries({ query: { cursor: Buffer.alloc(32).toString('base64url') } }),
  ]
  for (const attempt of attempts) await assert.rejects(attempt(), isProblem('invalid_cursor'))
  await assert.rejects(
    admin.audit.listEntries({ query: { from: '2026-13-01T00:00:00.000Z' } }),
    isProblem('invalid_query'),
  )
})

async function exported(hub: TestHub, caller: TestCaller, query = ''): Promise<string[]> {
  const answer = await hub.request({
    method: 'GET',
    path: `/audit/v1/export${query}`,
    headers: { authorization: `Bearer ${caller.token}` },
  })
  assert.equal(answer.status, 200, answer.text)
  assert.match(answer.headers.get('content-type') ?? '', /application\/x-ndjson/)
  return answer.text.split('\n')
}

test('exports audit entries that can be verified without the platform, up to the verified head', async () => {
  await using hub = await testHub()
  await fill(hub)
  const admin = await hub.as('administrator')
  const lines = await exported(hub, admin)
  const check = await verifyExport(lines)
  const { data } = await admin.audit.verify({})
  assert.deepEqual(check, { intact: true, checked: 12, complete: true, head: data.head, firstFault: null })
  assert.deepEqual(data, { intact: true, checked: 12, head: data.head, firstFault: null })

  const forged = lines.with(4, (lines[4] ?? '').replace('test.first', 'test.other'))
  assert.equal((await verifyExport(forged)).firstFault?.sequence, 5)
  const cut = await verifyExport(lines.toSpliced(3, 1))
  assert.equal(cut.complete, false)
})

test('exports matching audit entries oldest first, each with its own verifiable hash', async () => {
  await using hub = await testHub()
  await fill(hub)
  const admin = await hub.as('administrator')
  const lines = await exported(hub, admin, `?principal=${bob.principal.id}&action=test.second`)
  const entries = lines.filter(Boolean).map((line) => JSON.parse(line))
  assert.deepEqual(numbers(entries), [6, 9])
  const { intact, complete } = await verifyExport(lines)
  assert.deepEqual({ intact, complete }, { intact: true, complete: false })
})

test('exports the audit entries of several pages completely, with one statement per page', async () => {
  await using hub = await testHub()
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    for (let i = 0; i < 2_100; i++) await record(tx, ada, { action: 'test.bulk', detail: { i } })
  })
  await hub.settle()
  const admin = await hub.as('administrator')
  let lines: string[] = []
  const sent = await hub.statements(async () => {
    lines = await exported(hub, admin)
  })
  const check = await verifyExport(lines)
  assert.deepEqual([check.intact, check.complete, check.checked], [true, true, 2_100])
  assert.equal(sent.filter(({ text }) => text.includes('previousHash')).length, 3)
})

test("requires the permission to read the audit trail, and returns only entries of the caller's tenant", async () => {
  await using hub = await testHub()
  await fill(hub)
  const viewer = await hub.as('viewer')
  await assert.rejects(viewer.audit.listEntries({}), isProblem('forbidden'))
  await assert.rejects(viewer.audit.verify({}), isProblem('forbidden'))
  const stranger = await hub.as('administrator', { tenant: await hub.anotherTenant() })
  assert.equal((await stranger.audit.listEntries({})).meta.totalElements, 0)
  assert.deepEqual(await exported(hub, stranger), [''])
})
