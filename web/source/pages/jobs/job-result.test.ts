import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyJob } from '@millwright/api/jobs.ts'
import { adviceOf, type OutcomeText, resultOf } from './job-result.ts'
import { jobMessages } from './messages.ts'
import { jobAdvices, jobResults } from './outcome-messages.ts'

const [en, de] = (['en', 'de'] as const).map((language) => ({
  text: jobMessages[language],
  results: jobResults[language],
  advices: jobAdvices[language],
})) as [OutcomeText, OutcomeText]

const job = {
  type: 'discovery',
  gatewayId: 'gateway-1',
  phase: 'finished',
  subject: { reference: 'discovery/scan-1', name: 'SNMP' },
} satisfies Partial<AnyJob>

test('shows the result of a job in words', () => {
  assert.equal(resultOf({ ...job, message: 'Scan complete' }, en), 'Finished')
  assert.equal(resultOf({ ...job, message: 'Scan complete' }, de), 'Abgeschlossen')
  assert.equal(resultOf({ ...job, type: 'file-import', message: '12 rows' }, en), 'Import finished: 12 rows')
  assert.equal(resultOf({ ...job, type: 'my.workflow' }, en), 'Finished')
  assert.equal(resultOf({ ...job, phase: 'waiting' }, en), 'Waiting for the gateway')
  assert.equal(resultOf({ ...job, phase: 'waiting', gatewayId: 'platform' }, en), 'Waiting for other jobs')
  assert.equal(resultOf({ ...job, phase: 'failed', message: 'Timeout' }, en), 'Timeout')
  assert.equal(resultOf({ ...job, phase: 'failed' }, en), 'No reason reported')
})

test('the advice for a failed job leads to the page on which the user can continue', () => {
  const advice = (change: Partial<AnyJob>) => adviceOf({ ...job, phase: 'failed', ...change }, en)
  const asset = { type: 'device-info', subject: { reference: 'asset/a-1', name: 'PLC01' } }
  assert.deepEqual(
    [
      advice({ ...asset, message: 'The device refused the password' }),
      advice({ ...asset, message: 'Timed out after 5 s' }),
      advice({ message: 'The gateway did not report for 10 minutes' }),
      advice({ message: 'Invalid range' }),
      advice({ type: 'file-export', subject: { reference: 'export/e-1' } }),
    ].map(({ to, search }) => [to, search]),
    [
      ['/assets/a-1', { tab: 'credentials' }],
      ['/assets/a-1', undefined],
      ['/discovery/gateways/gateway-1', undefined],
      ['/discovery/scans/scan-1', undefined],
      ['/files', { view: 'exports' }],
    ],
  )
})
