import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from './contracts.ts'
import { pageLimits } from './envelope.ts'

/** Graphs are not lists, and the workflow engine has its own page sizes. */
const otherLimits = [
  'inventory.readGraph',
  'inventory.readTopology',
  'inventory.readGraphDifference',
  'workflows.listWorkflows',
  'workflows.listJobs',
  'updates.planCampaign',
]

test('every list has the same page limit', () => {
  const limits = Object.entries(contracts).flatMap(([service, { operations }]) =>
    Object.entries(operations).flatMap(([name, operation]) => {
      const query = 'query' in operation ? operation.query : undefined
      const limit = (query as { properties?: { limit?: { maximum: number } } } | undefined)?.properties?.limit
      return limit === undefined ? [] : [{ name: `${service}.${name}`, maximum: limit.maximum }]
    }),
  )
  assert.ok(limits.length > 20)
  const others = limits.filter(({ maximum }) => maximum !== pageLimits.maximum).map(({ name }) => name)
  assert.deepEqual(others, otherLimits)
})
