import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Monitoring } from '@millwright/api/monitoring.ts'
import { changesOf, changesOwner, emptyForm, errorsOf, formOf, newMonitoringOf } from './monitoring-form.ts'

const counts = { targets: 2, reached: 1, failed: 1, unknown: 0, changed: 0 }
const stored: Monitoring = {
  id: 'm1',
  jobId: 'm1',
  jobType: 'MONITORING',
  name: 'Line 1',
  targets: { filter: "startswith(name, 'Line 1')" },
  assetLinkIds: ['millwright.links.snmp'],
  instancesTemplateId: 't1',
  assignWorking: true,
  keys: ['interface_states'],
  schedule: { cron: '*/5 * * * *', timezone: 'Europe/Berlin', paused: false, nextRuns: [], missedRuns: 0 },
  owner: { id: 'u1', name: 'jane' },
  runs: 1,
  summary: counts,
  createdTimestamp: '2026-01-31T00:00:00.000Z',
  lastModifiedTimestamp: '2026-01-31T00:00:00.000Z',
}

test('a new monitoring has all links and an interval of 15 minutes, and no schedule for one run', () => {
  const form = { ...emptyForm(), name: ' Line 1 ', filter: " name eq 'Pump' ", keys: 'a\n\n b \na', zone: 'UTC' }
  const expected = {
    name: 'Line 1',
    targets: { filter: "name eq 'Pump'" },
    assetLinkIds: [],
    assignWorking: false,
    keys: ['a', 'b'],
  }
  const schedule = { cron: '*/15 * * * *', timezone: 'UTC' }
  assert.deepEqual(newMonitoringOf(form), { ...expected, schedule })
  assert.deepEqual(newMonitoringOf({ ...form, schedule: { ...form.schedule, kind: 'now' } }), expected)
})

test('credentials are assigned only with a monitoring set', () => {
  const form = { ...emptyForm(), name: 'Line 1', assignWorking: true }
  assert.equal(newMonitoringOf(form).assignWorking, false)
  const { assignWorking, instancesTemplateId } = newMonitoringOf({ ...form, templateId: 't1' })
  assert.deepEqual([assignWorking, instancesTemplateId], [true, 't1'])
})

test('an unchanged form has no changes, and a change contains only the changed fields', () => {
  const form = formOf(stored)
  assert.deepEqual(changesOf(form, stored), {})
  assert.deepEqual(changesOf({ ...form, name: 'Line 2' }, stored), { name: 'Line 2' })
  assert.deepEqual(changesOf({ ...form, isAllLinks: true }, stored), { assetLinkIds: [] })
  assert.deepEqual(changesOf({ ...form, templateId: '' }, stored), { instancesTemplateId: null, assignWorking: false })
  assert.deepEqual(changesOf({ ...form, schedule: { ...form.schedule, kind: 'now' } }, stored), { schedule: null })
})

test('a list of assets is kept until the user chooses a filter', () => {
  const listed: Monitoring = { ...stored, targets: { assetIds: ['a1', 'a2'] } }
  const form = formOf(listed)
  assert.deepEqual(changesOf(form, listed), {})
  assert.deepEqual(changesOf({ ...form, targetKind: 'filter', filter: 'id ne null' }, listed), {
    targets: { filter: 'id ne null' },
  })
})

test('a change of the name or the schedule does not change the owner', () => {
  assert.ok(!changesOwner({ name: 'Line 2', schedule: null }))
  assert.ok(changesOwner({ keys: [] }))
})

test('the form names missing and invalid fields', () => {
  assert.deepEqual(errorsOf({ ...emptyForm(), filter: ' ', isAllLinks: false }), {
    name: 'required',
    filter: 'filterRequired',
    links: 'linksRequired',
  })
  const form = { ...emptyForm(), name: 'Line 1' }
  assert.deepEqual(errorsOf(form), {})
  assert.deepEqual(errorsOf({ ...form, targetKind: 'list', filter: '' }), {})
  const keys = Array.from({ length: 17 }, (_, index) => `key${index}`).join('\n')
  assert.deepEqual(errorsOf({ ...form, keys }), { keys: 'tooManyKeys' })
  assert.deepEqual(errorsOf({ ...form, keys: 'k'.repeat(257) }), { keys: 'keyTooLong' })
  assert.deepEqual(errorsOf({ ...form, schedule: { ...form.schedule, kind: 'cron', cron: '* *' } }), {
    schedule: 'cronWrong',
  })
})
