import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { SignedReceipt } from '@millwright/api/receipt.ts'
import {
  enrolledGateway,
  linkReport,
  signedReceipt,
  type TestGateway,
} from '@millwright/cloud/platform/testing/gateway.ts'
import { TestPlatform } from '../testing.ts'

describe('millwright receipt', () => {
  let platform: TestPlatform
  let token: string
  let gateway: TestGateway
  let receipt: SignedReceipt
  let thumbprint: string

  before(async () => {
    platform = await TestPlatform.open()
    const admin = await platform.as('administrator')
    token = admin.token
    gateway = await enrolledGateway(platform.hub, admin)
    thumbprint = (await admin.onboarding.getGateway({ params: { id: gateway.id } })).data.keyThumbprint ?? ''
    const link = linkReport()
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [link] } } })
    await admin.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: { data: { assetLinkId: link.appInstanceId } },
    })
    const taken = await gateway.gatekeeper.leaseJob({ body: { data: { workflows: ['discovery'], waitSeconds: 10 } } })
    assert.ok(taken !== undefined, 'there is a job')
    const { job, lease } = taken.data
    const time = '2026-01-31T08:30:00.000Z'
    receipt = signedReceipt(gateway, job, {
      devices: [
        { address: '10.0.0.7', packets: { 'snmp Get': 3 }, first: time, last: time },
        { network: '10.0.3.0/24', addresses: 200, packets: { 'snmp Get': 200 }, first: time, last: time },
      ],
      totals: { 'snmp Get': 203 },
      refused: { excluded: 1 },
    })
    await gateway.gatekeeper.uploadReceipt({ params: { id: job.id }, body: { data: { lease: lease.id, receipt } } })
  })
  after(() => platform[Symbol.asyncDispose]())

  const run = (words: string[], input?: string) =>
    platform.run(['receipt', ...words], { token, ...(input === undefined ? {} : { input }) })
  const verify = (document: unknown, ...options: string[]) => run(['verify', '-', ...options], JSON.stringify(document))

  test('millwright receipt show prints the budget, the totals and the devices, and whether the signature is valid', async () => {
    const { code, out, err } = await run(['show', receipt.jobId])
    assert.equal(code, 0, err)
    assert.match(out, /Budget per device: 20 datagrams\/s, 20 new connections\/s, 20 requests\/s, 2 open connections/)
    assert.match(out, /Refused \(excluded\): 1 permit$/m)
    assert.match(out, /Addresses: 201\. Datagrams, connections and requests: 203/)
    assert.match(out, /^10\.0\.0\.7 +3 +snmp Get 3 /m)
    assert.match(out, /^10\.0\.3\.0\/24 +200 /m)
    assert.match(out, new RegExp(`Signature valid, key ${thumbprint}$`, 'm'))
    assert.equal((await run(['show', gateway.id])).code, 4)
  })

  test('millwright receipt show lists the receipts of all leases, and the budgets that applied', async () => {
    const admin = await platform.as('administrator')
    await platform.hub.asOwner((owner) => owner.query('update workflow_jobs set lease_until = now()'))
    const taken = await gateway.gatekeeper.leaseJob({ body: { data: { workflows: ['discovery'], waitSeconds: 10 } } })
    assert.ok(taken !== undefined, 'the job is offered again')
    const { job, lease } = taken.data
    const from = '2026-01-31T08:30:00.000Z'
    const later = { ...receipt.budget, multicast: false, excludedAddresses: ['10.0.0.9'] }
    const interrupted = signedReceipt(gateway, job, {
      state: 'interrupted',
      budgets: [
        { from, budget: receipt.budget },
        { from: '2026-01-31T08:31:00.000Z', budget: later },
      ],
    })
    const body = { data: { lease: lease.id, receipt: interrupted } }
    await gateway.gatekeeper.uploadReceipt({ params: { id: job.id }, body })
    const { out } = await run(['show', receipt.jobId])
    assert.match(out, /, interrupted$/m)
    assert.match(out, /^From 2026-01-31T08:31:00Z:\n(?: .*\n)+ +Excluded addresses: 10\.0\.0\.9$/m)
    assert.match(out, /^ +Multicast and broadcast packets: not allowed$/m)
    assert.match(out, /^The run has 2 receipts\./m)
    assert.match(out, new RegExp(`^${lease.id} +interrupted`, 'm'))
    const { meta } = await admin.discovery.getReceipt({ params: { jobId: receipt.jobId }, query: {} })
    const first = meta.receipts.find(({ state }) => state === 'finished')?.lease ?? ''
    assert.match(out, new RegExp(`^${first} +finished`, 'm'))
    const earlier = await run(['show', receipt.jobId, '--lease', first, '--json'])
    assert.deepEqual(JSON.parse(earlier.out).data, receipt)
    const verified = await verify(interrupted)
    assert.equal(verified.code, 0, verified.err)
    assert.match(verified.out, /, interrupted$/m)
  })

  test('millwright receipt verify accepts the output of millwright receipt show --json', async () => {
    const { meta } = await (await platform.as('administrator')).discovery.getReceipt({
      params: { jobId: receipt.jobId },
      query: {},
    })
    const lease = meta.receipts.at(-1)?.lease ?? ''
    const { out: saved } = await run(['show', receipt.jobId, '--lease', lease, '--json'])
    const file = join(platform.folder, 'receipt.json')
    writeFileSync(file, saved)
    const { code, out, err } = await run(['verify', file, '--fingerprint', thumbprint])
    assert.equal(code, 0, err)
    assert.match(out, new RegExp(`^Valid. Signed with the key ${thumbprint}\\.$`, 'm'))
    assert.match(out, /^2026-01-31T08:30:00Z to 2026-01-31T08:30:00Z, finished$/m)
    assert.match(out, /^ +snmp Get +203$/m)
    assert.equal(err, '')
  })

  test('millwright receipt verify needs no platform, and advises to compare the key', async () => {
    const { code, out, err } = await verify(receipt)
    assert.equal(code, 0, err)
    assert.match(err, new RegExp(`millwright gateway show ${gateway.id}`))
    assert.match(out, /^Valid\./)
    const json = await verify({ data: receipt }, '--json')
    const { isValid, keyThumbprint, totals } = JSON.parse(json.out).data
    assert.deepEqual([isValid, keyThumbprint, totals], [true, thumbprint, receipt.totals])
  })

  test('millwright receipt verify exits with 1 for a changed receipt or another key', async () => {
    const [device] = receipt.devices
    const forgeries: unknown[] = [
      { ...receipt, totals: { 'snmp Get': 1 } },
      { ...receipt, devices: [device] },
      { ...receipt, from: '2026-01-30T08:30:00.000Z' },
      { ...receipt, budget: { ...receipt.budget, excludedAddresses: ['10.0.0.7'] } },
      { ...receipt, note: 'x' },
    ]
    for (const forged of forgeries) {
      const { code, err } = await verify(forged)
      assert.deepEqual([code, /was changed after it was signed/.test(err)], [1, true], err)
    }
    const other = await verify(receipt, '--fingerprint', 'another-key')
    assert.equal(other.code, 1)
    assert.match(other.err, /signed with the key .* not with the key another-key/)
    const unreadable = await verify({ ...receipt, signature: 'x' })
    assert.deepEqual([unreadable.code, /not readable/.test(unreadable.err)], [1, true])
  })

  test('millwright receipt verify exits with 1 for an unsigned receipt unless it is allowed', async () => {
    const { signature: _, runId: _run, gatewayId: _gateway, assetLinkId: _link, ...scan } = receipt
    const unsigned = { ...scan, links: ['snmp'], unsigned: true }
    const refused = await verify(unsigned)
    assert.deepEqual([refused.code, /not signed/.test(refused.err)], [1, true])
    const { code, out } = await verify(unsigned, '--allow-unsigned')
    assert.equal(code, 0)
    assert.match(out, /^Not signed: a scan without a gateway\.$/m)
    assert.match(out, /^Scan \S+ without a gateway, with snmp$/m)
    assert.equal((await verify({ devices: [], errors: [], receipt: unsigned }, '--allow-unsigned')).code, 0)
    const { signature: _removed, ...stripped } = receipt
    assert.equal((await verify(stripped, '--allow-unsigned')).code, 1)
    assert.equal((await verify(unsigned, '--allow-unsigned', '--fingerprint', thumbprint)).code, 2)
  })

  test('millwright receipt verify reports input that is not a receipt', async () => {
    for (const document of [[], 'text', null]) assert.equal((await verify(document)).code, 1)
    assert.equal((await verify({ unsigned: true }, '--allow-unsigned')).code, 1)
    assert.equal((await run(['verify', '-'], 'no json')).code, 2)
    assert.equal((await run(['verify', join(platform.folder, 'missing.json')])).code, 2)
  })
})
