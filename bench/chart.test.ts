import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { chart } from './chart.ts'

const kept = (name: string) => readFileSync(new URL(`../docs/figures/${name}`, import.meta.url), 'utf8')

test('the chart in the documentation matches its figures for every plant size', () => {
  const costs = JSON.parse(kept('reads.json'))
  assert.deepEqual(Object.keys(costs), ['10000', '100000', '1000000'])
  assert.equal(kept('reads.svg'), chart(costs))
})

test('a chart has a text description', () => {
  const drawn = chart({ 10: { 'read by id': 0.5 }, 1000: { 'read by id': 12.34 } })
  assert.match(drawn, /<desc id="description">by id: 0\.5 ms of 10, 12 ms of 1,000\.<\/desc>/)
})
