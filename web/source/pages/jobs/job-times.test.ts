import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatsOf } from '../../app/language/formats.ts'
import { historyTimesOf, timesOf, waitMsOf, workMsOf } from './job-times.ts'

const job = {
  phase: 'finished',
  createdTimestamp: '2026-01-31T08:00:00.000Z',
  startedTimestamp: '2026-01-31T10:00:00.900Z',
  lastModifiedTimestamp: '2026-01-31T10:00:12.100Z',
} as const

test('separates the time of the work from the time in which the job waited', () => {
  assert.equal(workMsOf(job), 12_000)
  assert.equal(waitMsOf(job), 7_200_000)
  assert.equal(waitMsOf({ ...job, startedTimestamp: '2026-01-31T08:00:20.000Z' }), undefined)
})

test('a scan has the times of its run', () => {
  const run = { startedTimestamp: '2026-01-31T10:00:01.000Z', endedTimestamp: '2026-01-31T10:00:31.000Z' }
  assert.equal(workMsOf({ ...job, scan: { scope: [], found: 9, created: 0, errors: 0, ...run } }), 30_000)
})

test('a job that was canceled while it waited has no time of work', () => {
  const { startedTimestamp: _, ...unstarted } = job
  assert.deepEqual(timesOf({ ...unstarted, phase: 'waiting' }), { created: job.createdTimestamp })
  assert.equal(workMsOf({ ...unstarted, phase: 'canceled' }), undefined)
  assert.equal(waitMsOf({ ...unstarted, phase: 'canceled' }), 7_212_000)
})

test('the start of a job of an earlier version is its creation', () => {
  const { startedTimestamp: _, ...unstarted } = job
  assert.equal(timesOf(unstarted).started, job.createdTimestamp)
})

test('shows the time of each entry of a history, with the date only if it is not the same for all', () => {
  const formats = formatsOf('en')
  const [first, second, third] = ['2026-01-31T12:00:09', '2026-01-31T12:00:09', '2026-01-31T12:00:07'] as const
  const time = formats.time
  assert.deepEqual(historyTimesOf([first, second, third], formats), {
    times: [time(first), time(second), time(third)],
    isDated: false,
  })
  const earlier = '2026-01-30T12:00:07'
  assert.deepEqual(historyTimesOf([first, earlier], formats), {
    times: [formats.exact(first), formats.exact(earlier)],
    isDated: true,
  })
})
