import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import type { WorkflowJob } from '@millwright/api/workflows.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import { RefusedError } from '../identity/token.ts'
import { LeasedJob } from './leased-job.ts'

test('renews the lease after one second, then after two, so that a short scan reports its progress', async () => {
  const renewals: { waitSeconds?: number; progress?: number }[] = []
  const second = Promise.withResolvers<void>()
  const renewLease = async ({ body }: { body: { data: { waitSeconds?: number; progress?: number } } }) => {
    renewals.push(body.data)
    if (renewals.length === 2) second.resolve()
    return { data: { cancelRequested: false } }
  }
  const cloud = { gatekeeper: { renewLease } } as unknown as CloudConnection
  const leased = new LeasedJob({ job: { id: 'job' } as WorkflowJob, lease: 'lease', cloud })

  await leased.keepDuring(async () => {
    leased.note('Scanning', 40)
    await second.promise
  })

  assert.deepEqual(
    renewals.map(({ waitSeconds }) => waitSeconds),
    [1, 2],
  )
  assert.equal(renewals[1]?.progress, 40)
})

test('stops when the job was deleted, and when the platform rejects the gateway', async () => {
  const stopReasonAfter = async (error: Error) => {
    const cloud = { gatekeeper: { renewLease: () => Promise.reject(error) } } as unknown as CloudConnection
    const leased = new LeasedJob({ job: { id: 'job' } as WorkflowJob, lease: 'lease', cloud })
    const stopped = new Promise((resolve) => leased.signal.addEventListener('abort', resolve))
    await leased.keepDuring(() => stopped)
    return leased.stopReason
  }
  assert.equal(await stopReasonAfter(new Problem('not_found', 'The job does not exist')), 'canceled')
  assert.equal(await stopReasonAfter(new RefusedError('The platform rejects this gateway')), 'abandoned')
  assert.equal(await stopReasonAfter(new Problem('unauthenticated', 'The gateway was revoked')), 'abandoned')
})
