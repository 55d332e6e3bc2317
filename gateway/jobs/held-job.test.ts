import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WorkflowJob } from '@millwright/api/workflows.ts'
import type { Outgoing } from '../outgoing.ts'
import { HeldJob } from './held-job.ts'

test('renews the lease after one second, then after two, so that a short scan reports its progress', async () => {
  const renewals: { waitSeconds?: number; progress?: number }[] = []
  const second = Promise.withResolvers<void>()
  const renewLease = async ({ body }: { body: { data: { waitSeconds?: number; progress?: number } } }) => {
    renewals.push(body.data)
    if (renewals.length === 2) second.resolve()
    return { data: { cancelRequested: false } }
  }
  const outgoing = { gatekeeper: { renewLease } } as unknown as Outgoing
  const held = new HeldJob({ job: { id: 'job' } as WorkflowJob, lease: 'lease', outgoing })

  await held.keepDuring(async () => {
    held.note('Scanning', 40)
    await second.promise
  })

  assert.deepEqual(
    renewals.map(({ waitSeconds }) => waitSeconds),
    [1, 2],
  )
  assert.equal(renewals[1]?.progress, 40)
})
