import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyJob } from '@millwright/api/jobs.ts'
import { firstSentence } from '../../app/language/link-message.ts'
import { hasUnreachable } from './check-counts.ts'
import { errorsOf, hasRunErrors, hasSignInErrors } from './job-errors.ts'
import { adviceOf, type OutcomeText, partsText, resultOf, scanResultText } from './job-result.ts'
import { jobMessages } from './messages.ts'
import { jobAdvices, jobErrorAdvices, jobResults } from './outcome-messages.ts'

const [en, de] = (['en', 'de'] as const).map((language) => ({
  text: jobMessages[language],
  results: jobResults[language],
  advices: jobAdvices[language],
  errorAdvices: jobErrorAdvices[language],
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
  const lost = 'Asset link millwright.links.plant is not registered with the gateway'
  const shown = 'Asset link Simulated plant is not registered with the gateway'
  assert.equal(resultOf({ ...job, phase: 'failed', message: lost }, en), shown)
  const message = 'The asset link ended the scan with an error: INVALID_ARGUMENT: The fault is unknown'
  assert.equal(resultOf({ ...job, phase: 'failed', message }, en), 'The fault is unknown')
})

test('shows the result of a check in the words of the device states', () => {
  const check = { ...job, type: 'monitoring' }
  const message = '97 devices reached, 3 not reachable, 1 not checked'
  assert.equal(resultOf({ ...check, message }, en), '97 reachable, 3 unreachable, 1 not checked')
  assert.equal(resultOf({ ...check, message: '1 device reached' }, de), '1 erreichbar')
  assert.equal(resultOf({ ...check, message: 'done' }, en), 'Check finished')
  assert.equal(resultOf({ ...check, message: 'Line 4 stopped' }, en), 'Line 4 stopped')
})

test('links the result of a check only if it ended and did not reach a device', () => {
  const check = { ...job, type: 'monitoring', subject: { reference: 'monitoring/m-1' } }
  const message = '98 devices reached, 2 not reachable'
  assert.equal(hasUnreachable({ ...check, message }), true)
  assert.equal(hasUnreachable({ ...check, message: '100 devices reached' }), false)
  assert.equal(hasUnreachable({ ...check, message, phase: 'running' }), false)
  assert.equal(hasUnreachable({ ...check, message, type: 'discovery' }), false)
})

test('shortens a reason to its first sentence', () => {
  assert.equal(firstSentence('"10.0.0.0/33" is not a range. Use 10.0.0.0/16.'), '"10.0.0.0/33" is not a range')
  assert.equal(firstSentence('No answer from 10.0.0.7.'), 'No answer from 10.0.0.7.')
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
      advice({ message: 'The asset link ended the scan with an error: INVALID_ARGUMENT: Invalid range' }),
      advice({ type: 'file-export', subject: { reference: 'export/e-1' } }),
    ].map(({ to, search }) => [to, search]),
    [
      ['/assets/a-1', { tab: 'credentials' }],
      ['/assets/a-1', undefined],
      ['/discovery/gateways/gateway-1', undefined],
      ['/discovery/scans/scan-1', undefined],
      ['/discovery/scans/scan-1', { edit: 'settings' }],
      ['/files', { view: 'exports' }],
    ],
  )
})

test('counts the errors of a finished job, and leads to the page that lists them', () => {
  const campaign = { ...job, type: 'update-campaign', subject: { reference: 'update-campaign/c-1' } }
  const parts = { waiting: 0, running: 0, finished: 3, failed: 2, canceled: 0 }
  const file = { ...job, type: 'file-import', subject: { reference: 'import/i-1' } }
  const scan = { scope: [], found: 9, created: 0, errors: 4 }
  assert.deepEqual(errorsOf({ ...job, scan, runId: 'run-2' }), {
    to: '/discovery/scans/scan-1',
    search: { view: 'errors', run: 'run-2' },
    kind: 'errors',
    count: 4,
  })
  assert.deepEqual(errorsOf({ ...campaign, parts }), { to: '/updates/campaigns/c-1', kind: 'errors', count: 2 })
  assert.equal(errorsOf({ ...file, message: 'created: 5, updated: 0, unchanged: 0, failed: 12' })?.count, 12)
  assert.equal(errorsOf({ ...file, message: 'created: 5, updated: 0, unchanged: 0, failed: 0' }), undefined)
  assert.equal(errorsOf({ ...job, phase: 'failed', scan }), undefined)
})

test('shows the jobs of a campaign by state', () => {
  const parts = { waiting: 1, running: 0, finished: 3, failed: 2, canceled: 0 }
  assert.equal(partsText(parts, en.text, String), '6 jobs: 1 queued, 3 finished, 2 failed')
  assert.equal(partsText({ ...parts, waiting: 0, failed: 0 }, de.text, String), '3 Aufträge, alle abgeschlossen')
})

test('counts the devices that a finished check could not check, and leads to the monitoring task', () => {
  const check = { ...job, type: 'monitoring', subject: { reference: 'monitoring/m-1' } }
  const message = '0 devices reached, 100 not checked'
  assert.deepEqual(errorsOf({ ...check, message }), { to: '/monitoring/m-1', kind: 'unchecked', count: 100 })
  assert.equal(errorsOf({ ...check, message: '97 devices reached, 3 not reachable' }), undefined)
  assert.equal(errorsOf({ ...check, phase: 'running', message }), undefined)
})

test('shows the missing devices of a scan only if there are any', () => {
  const scan = { scope: [], found: 289, created: 0, errors: 0 }
  assert.equal(scanResultText(scan, { text: en.text, number: String }), '289 found, 0 new')
  assert.equal(scanResultText({ ...scan, gone: 0 }, { text: en.text, number: String }), '289 found, 0 new')
  assert.equal(scanResultText({ ...scan, gone: 19 }, { text: en.text, number: String }), '289 found, 0 new, 19 missing')
})

test('the next step after a scan is to change credentials only if devices rejected the sign-in', () => {
  const scan = { scope: [], found: 9, created: 0, errors: 3, errorCauses: [{ code: 14, count: 3 }] }
  const finished = { ...job, runId: 'run-2', scan }
  assert.deepEqual([hasRunErrors(finished), hasSignInErrors(finished)], [true, false])
  const errorCauses = [...scan.errorCauses, { code: 16, count: 1 }]
  const rejected = { ...finished, scan: { ...scan, errorCauses } }
  assert.equal(hasSignInErrors(rejected), true)
  assert.equal(hasSignInErrors({ ...rejected, phase: 'failed' }), false)
})
