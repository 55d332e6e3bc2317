import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commonPlace } from './common-place.ts'

const at = (...nodeIds: string[]) => ({ nodeIds })
const nodeOf = (nodeId: string, name: string) => ({ nodeId, names: ['Production', 'Aarhus', name] })
const placeOf = (...assets: { nodeIds: string[] }[]) =>
  commonPlace({ assets, byNode: [nodeOf('line-1', 'Line 1'), nodeOf('line-2', 'Line 2')] } as never)

test('the common place of an impact is the path that the table shows for all its assets', () => {
  assert.equal(placeOf(at('line-1'), at('line-1')), 'Aarhus › Line 1')
  assert.equal(placeOf(at('line-1', 'unnamed'), at('line-1')), 'Aarhus › Line 1')
})

test('an impact has no common place if an asset has another place, a second place or no place', () => {
  assert.deepEqual(
    [at('line-2'), at('line-1', 'line-2'), at()].map((other) => placeOf(at('line-1'), other)),
    [undefined, undefined, undefined],
  )
  assert.equal(placeOf(at(), at()), undefined)
})

test('an impact of one asset has no common place, because the table shows its place', () => {
  assert.equal(placeOf(at('line-1')), undefined)
})
