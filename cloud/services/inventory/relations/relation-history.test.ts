import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Relation } from '@millwright/api/inventory/inventory.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { asset, createAssets } from '../testing.ts'

/** The time by which the clock of the second process is ahead. */
const aheadMs = 5_000

/** Runs a request while the clock is `aheadMs` ahead. */
async function ahead<Result>(context: TestContext, run: () => Promise<Result>): Promise<Result> {
  context.mock.timers.enable({ apis: ['Date'], now: Date.now() + aheadMs })
  try {
    return await run()
  } finally {
    context.mock.timers.reset()
  }
}

async function eventsOf(hub: TestHub, caller: TestCaller): Promise<string[]> {
  await hub.settle()
  const { data } = await caller.events.listEvents({ query: { limit: 100 } })
  return data.flatMap(({ type, subject }) => {
    const [, change] = /\.inventory\.relation\.(\w+)$/.exec(type) ?? []
    return change === undefined ? [] : [`${change} ${subject.replace('relation/', '')}`]
  })
}

test('keeps relation history and events in request order when the clocks of two processes differ', async (context) => {
  await using hub = await testHub()
  await using sibling = await hub.sibling()
  const slow = await hub.as('administrator')
  const fast = sibling.withToken(slow.token, slow.principalId)
  const [pump = '', motor = '', tank = ''] = await createAssets(hub, [
    { name: 'pump' },
    { name: 'motor' },
    { name: 'tank' },
  ])
  const done: string[] = []
  const relate = async (caller: TestCaller, object: string): Promise<Relation> => {
    const body = { data: { subject: asset(pump), predicate: 'is_part_of', object: asset(object) } }
    const [relation] = (await caller.inventory.createRelation({ body })).data
    assert.ok(relation !== undefined)
    done.push(`created ${relation.id}`)
    return relation
  }
  const remove = async (caller: TestCaller, { id }: Relation): Promise<void> => {
    await caller.inventory.deleteRelations({ body: { data: { ids: [id] } } })
    done.push(`deleted ${id}`)
  }
  const first = await ahead(context, () => relate(fast, motor))
  await remove(slow, first)
  const second = await relate(slow, motor)
  const other = await ahead(context, () => relate(fast, tank))
  await remove(slow, second)
  const third = await relate(slow, motor)
  await ahead(context, () => remove(fast, third))
  await remove(slow, other)
  await relate(slow, motor)

  const listed = async (query: { limit: number; offset?: number }) => {
    const { data } = await slow.inventory.readRelationHistory({ params: { id: pump }, query })
    return data.map(({ change, relation }) => `${change} ${relation.id}`)
  }
  const latestFirst = done.toReversed()
  assert.deepEqual(await listed({ limit: 100 }), latestFirst)
  assert.deepEqual(await listed({ limit: 3, offset: 3 }), latestFirst.slice(3, 6))
  assert.deepEqual(await eventsOf(hub, slow), done)
})
