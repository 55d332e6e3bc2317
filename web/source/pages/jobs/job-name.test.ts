import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workflowNames } from '../workflows/workflow-names.ts'
import { jobNameOf } from './job-name.ts'
import { jobMessages } from './messages.ts'

const [en, de] = (['en', 'de'] as const).map((language) => ({
  text: jobMessages[language],
  names: workflowNames[language],
}))

test('names a job by its work and its subject, and a scan also by its scope', () => {
  assert.ok(en && de)
  const subject = { reference: 'discovery/scan-1', name: 'Simulated plant' }
  const scan = { scope: ['10.0.0.0/25'], found: 0, created: 0, errors: 0 }
  assert.equal(jobNameOf({ type: 'discovery', subject, scan }, en), 'Scan: Simulated plant, 10.0.0.0/25')
  assert.equal(
    jobNameOf({ type: 'discovery', subject, scan: { ...scan, scope: [] } }, de),
    'Suchlauf: Simulated plant, alle Geräte',
  )
  const asset = { reference: 'asset/a-1', name: 'PLC-1' }
  assert.equal(jobNameOf({ type: 'my.workflow', subject: asset }, en), 'my.workflow: PLC-1')
  assert.equal(jobNameOf({ type: 'my.workflow' }, en), 'my.workflow')
})
