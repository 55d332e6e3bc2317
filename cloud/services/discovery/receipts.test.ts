import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { gatekeeper, gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { receiptLimits, type SignedReceipt } from '@millwright/api/receipt.ts'
import { verifyReceipt } from '@millwright/api/receipt-signature.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import {
  endDiscoveryJob,
  endOfDiscovery,
  enrolledGateway,
  leaseDiscovery,
  linkReport,
  newKey,
  signedReceipt,
  type TestGateway,
} from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const budgetedLink = linkReport({
  appInstanceId: 'snmp-1',
  interfaces: [...linkReport().interfaces, 'millwright.safety.permits.v1'],
})

describe('receipts of scans', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    gateway = await enrolledGateway(hub, admin)
    const links = [budgetedLink, linkReport()]
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links } } })
  })
  after(() => hub[Symbol.asyncDispose]())

  /** Starts a discovery and leases its job. */
  async function started(assetLinkId = budgetedLink.appInstanceId) {
    const { jobId } = await admin.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: { data: { assetLinkId } },
    })
    return { jobId, ...(await leaseDiscovery(gateway)) }
  }
  type Started = Awaited<ReturnType<typeof started>>

  const upload = ({ job, lease }: Pick<Started, 'job' | 'lease'>, receipt: SignedReceipt, sender = gateway) =>
    sender.gatekeeper.uploadReceipt({ params: { id: job.id }, body: { data: { lease: lease.id, receipt } } })

  async function end(run: Started): Promise<void> {
    await endDiscoveryJob(gateway, run)
    assert.equal((await endOfDiscovery({ hub, admin }, run.jobId)).state, 'finished')
  }
  const change = (statement: string, ...values: string[]) => hub.asOwner((owner) => owner.query(statement, values))
  const read = (jobId: string, run?: string, caller: TestCaller = admin) =>
    caller.discovery.getReceipt({ params: { jobId }, query: run === undefined ? {} : { run } })
  const thumbprint = async () => (await admin.onboarding.getGateway({ params: { id: gateway.id } })).data.keyThumbprint

  test('returns the receipt of a run as the gateway signed it, with the key of the gateway', async () => {
    const run = await started()
    const receipt = signedReceipt(gateway, run.job, { refused: { excluded: 2 } })
    await upload(run, receipt)
    await end(run)
    const { data, meta } = await read(run.jobId)
    assert.deepEqual(data, receipt)
    const keyThumbprint = await thumbprint()
    assert.deepEqual([meta.verified, meta.keyThumbprint], [true, keyThumbprint])
    assert.deepEqual(verifyReceipt(data), { isValid: true, thumbprint: keyThumbprint })
  })

  test('stores a repeated receipt once, and refuses another receipt for the same lease', async () => {
    const run = await started()
    const receipt = signedReceipt(gateway, run.job)
    await upload(run, receipt)
    const first = await read(run.jobId)
    await upload(run, receipt)
    assert.deepEqual(await read(run.jobId), first)
    const other = signedReceipt(gateway, run.job, { state: 'canceled' })
    await assert.rejects(upload(run, other), { status: 409, code: 'conflict', message: /already has another receipt/ })
    assert.deepEqual((await read(run.jobId)).data, receipt)
    await end(run)
    await upload(run, receipt)
  })

  test('keeps the receipts of all leases of a run, and returns the newest or the one of a lease', async () => {
    const run = await started()
    const interrupted = signedReceipt(gateway, run.job, { state: 'interrupted' })
    await upload(run, interrupted)
    await change(`update workflow_jobs set lease_until = now() where id = $1`, run.job.id)
    const again = { jobId: run.jobId, ...(await leaseDiscovery(gateway)) }
    assert.equal(again.job.id, run.job.id)
    const finished = signedReceipt(gateway, again.job, { to: '2026-01-31T08:31:00.000Z' })
    await upload(again, finished)
    await end(again)
    const { data, meta } = await read(run.jobId)
    assert.deepEqual([data, meta.lease], [finished, again.lease.id])
    assert.deepEqual(
      meta.receipts.map(({ lease, state, from, to }) => [lease, state, from, to]),
      [finished, interrupted].map(({ state, from, to }, index) => [
        index === 0 ? again.lease.id : run.lease.id,
        state,
        from,
        to,
      ]),
    )
    const earlier = await admin.discovery.getReceipt({ params: { jobId: run.jobId }, query: { lease: run.lease.id } })
    assert.deepEqual([earlier.data, earlier.meta.receipts], [interrupted, meta.receipts])
    const unknown = { params: { jobId: run.jobId }, query: { lease: randomUUID() } }
    await assert.rejects(admin.discovery.getReceipt(unknown), { status: 404, code: 'not_found' })
  })

  test('lists a receipt that an earlier version stored without its lease', async () => {
    const run = await started()
    const receipt = signedReceipt(gateway, run.job)
    await upload(run, receipt)
    await end(run)
    const lease = '00000000-0000-0000-0000-000000000000'
    await change(
      'update discovery_receipts set lease = $2, state = null, scanned_from = null, scanned_to = null where run_id = $1',
      receipt.runId,
      lease,
    )
    const { data, meta } = await read(run.jobId)
    assert.deepEqual(data, receipt)
    const { state, from, to } = receipt
    assert.deepEqual(meta.receipts, [{ lease, state, from, to, receivedTimestamp: meta.receivedTimestamp }])
  })

  test('accepts a receipt after the job of its run was deleted', async () => {
    const run = await started()
    await admin.workflows.deleteJob({ params: { id: run.job.id } })
    const receipt = signedReceipt(gateway, run.job, { state: 'canceled' })
    await upload(run, receipt)
    assert.deepEqual((await read(run.jobId)).data, receipt)
    const forged = signedReceipt(gateway, run.job, { runId: randomUUID() })
    await assert.rejects(upload(run, forged), { code: 'not_found' })
  })

  test('refuses a receipt long after the end of its run', async () => {
    const run = await started()
    await end(run)
    const runId = String(run.job.definition.runId)
    const days = (number: number) =>
      change(`update discovery_runs set ended_at = now() - interval '${number} days' where id = $1`, runId)
    await days(receiptLimits.daysAfterRun + 1)
    const receipt = signedReceipt(gateway, run.job)
    await assert.rejects(upload(run, receipt), { status: 409, code: 'conflict', message: /accepted for 7 days/ })
    await days(receiptLimits.daysAfterRun - 1)
    await upload(run, receipt)
  })

  test('keeps the receipt of each run of a discovery until the discovery is deleted', async () => {
    const first = await started()
    const receipt = signedReceipt(gateway, first.job)
    await upload(first, receipt)
    await end(first)
    await admin.discovery.runDiscovery({ params: { jobId: first.jobId } })
    const second = { jobId: first.jobId, ...(await leaseDiscovery(gateway)) }
    const other = signedReceipt(gateway, second.job)
    await upload(second, other)
    await end(second)
    assert.deepEqual((await read(first.jobId)).data, other)
    assert.deepEqual((await read(first.jobId, receipt.runId)).data, receipt)
    const foreign = await started()
    await assert.rejects(read(foreign.jobId, receipt.runId), { code: 'not_found' })
    await end(foreign)
    await admin.discovery.deleteDiscovery({ params: { jobId: first.jobId } })
    await hub.settle()
    await assert.rejects(read(first.jobId), { code: 'not_found' })
    await assert.rejects(upload(second, other), { code: 'not_found' })
  })

  test('explains why a run has no receipt', async () => {
    const run = await started()
    await assert.rejects(read(run.jobId), { status: 404, code: 'run_not_finished' })
    await end(run)
    await assert.rejects(read(run.jobId), { status: 404, code: 'receipt_not_sent' })
    const foreign = await started(linkReport().appInstanceId)
    await end(foreign)
    await assert.rejects(read(foreign.jobId), { status: 404, code: 'link_not_budgeted' })
    await assert.rejects(read(randomUUID()), { status: 404, code: 'not_found' })
    const { data: links } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    assert.deepEqual(new Map(links.map((link) => [link.assetLinkId, link.budgeted])).get('snmp-1'), true)
    assert.equal(links.find(({ assetLinkId }) => assetLinkId !== 'snmp-1')?.budgeted, false)
  })

  test('refuses a receipt that was changed, or that another key signed', async () => {
    const run = await started()
    const receipt = signedReceipt(gateway, run.job)
    const refused = (forged: SignedReceipt, detail: RegExp) =>
      assert.rejects(upload(run, forged), { status: 400, code: 'invalid_receipt', message: detail })
    await refused({ ...receipt, totals: { 'snmp Get': 2 } }, /was changed/)
    await refused({ ...receipt, signature: 'none' }, /not a detached JWS/)
    await refused(signedReceipt({ id: gateway.id, key: await newKey() }, run.job), /not the key of the gateway/)
    await end(run)
    await assert.rejects(read(run.jobId), { code: 'receipt_not_sent' })
  })

  test('refuses a receipt of another gateway, discovery or run', async () => {
    const earlier = await started()
    await end(earlier)
    const run = await started()
    for (const [name, pattern] of [
      ['gatewayId', /gatewayId/],
      ['jobId', /jobId/],
      ['runId', /runId/],
    ] as const) {
      const receipt = signedReceipt(gateway, run.job, { [name]: randomUUID() })
      await assert.rejects(upload(run, receipt), { code: 'invalid_receipt', message: pattern })
    }
    await assert.rejects(upload(run, signedReceipt(gateway, earlier.job)), { code: 'invalid_receipt' })
    const receipt = signedReceipt(gateway, run.job)
    await assert.rejects(upload({ job: run.job, lease: earlier.lease }, receipt), { code: 'lease_lost' })
    const other = await enrolledGateway(hub, admin, { name: 'line 2' })
    await assert.rejects(upload(run, signedReceipt(other, run.job), other), { code: 'not_found' })
    await assert.rejects(upload(run, receipt, other), { code: 'not_found' })
    const user = await admin.exchange(gatekeeper, 'uploadReceipt', {
      params: { id: run.job.id },
      body: { data: { lease: run.lease.id, receipt } },
    })
    assert.equal(user.status, 403)
    await end(run)
  })

  test('refuses the receipt of a gateway of another tenant', async () => {
    const run = await started()
    await using elsewhere = await testHub()
    const stranger = await enrolledGateway(elsewhere, await elsewhere.as('administrator'))
    await assert.rejects(upload(run, signedReceipt(gateway, run.job), stranger), { code: 'not_found' })
    await end(run)
    await assert.rejects(read(run.jobId, undefined, await elsewhere.as('administrator')), { code: 'not_found' })
  })

  test('accepts a receipt with the maximum number of entries, and refuses a larger receipt', async () => {
    const run = await started()
    const at = '2026-01-31T08:30:00.000Z'
    const entries = (number: number) =>
      Array.from({ length: number }, (_, index) => ({
        address: `10.0.${index >> 8}.${index & 255}`,
        packets: { 'snmp Get': 3 },
        first: at,
        last: at,
      }))
    const largest = signedReceipt(gateway, run.job, { devices: entries(receiptLimits.entries) })
    await upload(run, largest)
    assert.deepEqual((await read(run.jobId)).data, largest)
    const many = signedReceipt(gateway, run.job, { devices: entries(receiptLimits.entries + 1) })
    await assert.rejects(upload(run, many), { status: 400, code: 'invalid_body' })
    const long = signedReceipt(gateway, run.job, { refused: { ['x'.repeat(receiptLimits.bytes)]: 1 } })
    await assert.rejects(upload(run, long), { status: 400, code: 'invalid_receipt', message: /bytes/ })
    const body = JSON.stringify({ data: 'x'.repeat(gatekeeperLimits.receiptUploadBytes) })
    const { status, body: problem } = await gateway.send({
      method: 'POST',
      path: `${gatekeeper.prefix}/jobs/${run.job.id}/receipt`,
      headers: { 'content-type': 'application/json' },
      body,
    })
    assert.deepEqual([status, (problem as ProblemDocument).code], [413, 'body_too_large'])
    await end(run)
  })

  test('shows a receipt only to callers who can read the jobs and the gateway', async () => {
    const run = await started()
    await upload(run, signedReceipt(gateway, run.job))
    await end(run)
    const group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-9' } } })).data.id
    const withoutJobs = await createCaller(hub, [{ permissions: ['inventory_read_asset_data'] }])
    await assert.rejects(read(run.jobId, undefined, withoutJobs), { status: 403 })
    const elsewhere = await createCaller(hub, [
      { permissions: ['glb_jobs_read'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: group },
    ])
    await assert.rejects(read(run.jobId, undefined, elsewhere), { status: 404, code: 'not_found' })
    const reader = await createCaller(hub, [{ permissions: ['glb_jobs_read', 'inventory_read_asset_data'] }])
    assert.equal((await read(run.jobId, undefined, reader)).meta.verified, true)
  })
})
