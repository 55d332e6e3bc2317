import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commonPlace } from './common-place.ts'

const at = (...nodeIds: string[]) => ({ nodeIds })
const placeOf = (...assets: { nodeIds: string[] }[]) =>
  commonPlace({
    assets,
    byNode: [{ nodeId: 'line-1', names: ['Production', 'Aarhus', 'Line 1'], affected: 2, degraded: 0 }],
  } as never)

test('the common place of an impact is the path of the node that all its assets have', () => {
  assert.equal(placeOf(at('line-1'), at('line-1')), 'Aarhus › Line 1')
})

test('an impact has no common place if an asset has another node, a second node or no node', () => {
  assert.deepEqual(
    [at('line-2'), at('line-1', 'line-2'), at()].map((other) => placeOf(at('line-1'), other)),
    [undefined, undefined, undefined],
  )
  assert.equal(placeOf(at(), at()), undefined)
})

test('an impact of one asset has no common place, because the table shows its place', () => {
  assert.equal(placeOf(at('line-1')), undefined)
})
