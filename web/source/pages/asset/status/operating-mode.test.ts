import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modeName, modeTone } from './operating-mode.ts'

test('an operating mode other than run is emphasized', () => {
  assert.deepEqual(['run', 'run_redundant', 'stop', 'defective'].map(modeTone), ['good', 'good', 'critical', 'bad'])
})

test('an operating mode is shown in words', () => {
  assert.equal(modeName('run_redundant'), 'Run redundant')
})
