import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSetByClient, modeChange, modeName, modeTone } from './operating-mode.ts'

test('an operating mode other than run is emphasized', () => {
  assert.deepEqual(['run', 'run_redundant', 'stop', 'defective'].map(modeTone), ['good', 'good', 'critical', 'bad'])
})

test('an operating mode is shown in words', () => {
  assert.equal(modeName('run_redundant'), 'Run redundant')
})

test('the current operating mode was set by the newest change to it', () => {
  const entry = (version: number, before: string | undefined, after: string) => {
    const document = (mode: string) => ({ operating_mode: { mode_name: mode } })
    return { version, before: before === undefined ? null : document(before), after: document(after) }
  }
  const history = [
    entry(4, 'stop', 'stop'),
    entry(3, 'run', 'stop'),
    entry(2, 'stop', 'run'),
    entry(1, undefined, 'stop'),
  ]
  assert.equal(modeChange('stop', history as never)?.version, 3)
  assert.equal(modeChange('run', history.slice(3) as never), undefined)
})

test('an operating mode was set by a client if no gateway and no link reported it', () => {
  const manual = { type: 'manual' }
  assert.equal(isSetByClient({ principalName: 'admin@default', source: manual }), true)
  assert.equal(isSetByClient({ principalName: 'gateway Hall 3', source: manual }), false)
  assert.equal(isSetByClient({ principalName: 'admin@default', source: { type: 'discovery', value: 'snmp' } }), false)
})
