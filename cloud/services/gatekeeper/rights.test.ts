import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Contract, isInternal, type Operation, takesFile } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { enrolledGateway } from '../../platform/testing/gateway.ts'
import { testHub } from '../../platform/testing/hub.ts'

/**
 * The operations that a gateway may call in addition to its own contract. They are limited to its own jobs and the
 * workflows of these jobs.
 */
const southbound = [
  'getHealth',
  'getVersion',
  'listWorkflows',
  'getWorkflow',
  'drawWorkflow',
  'listJobs',
  'streamJobEvents',
  'getJob',
  'getJobStatus',
  'putJobStatus',
  'getJobDefinition',
  'putJobDefinition',
  'getJobTags',
]

const anyId = '0198f0c2-7b1e-7c3a-9d55-0242ac120002'

const emptyFile = { mediaType: 'text/csv', content: '' }

test('refuses the token of a gateway at every operation except the operations for gateways', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const gateway = await enrolledGateway(hub, admin)
  let refused = 0
  for (const contract of Object.values(contracts) as Contract[]) {
    for (const [name, operation] of Object.entries(contract.operations) as [string, Operation][]) {
      if (operation.access === 'public' || contract.name === 'gatekeeper') continue
      if (contract.name === 'workflows' && southbound.includes(name)) continue
      if (operation.access === 'glb_gateway_work') continue
      const params = Object.fromEntries(Object.keys(operation.params?.properties ?? {}).map((key) => [key, anyId]))
      const { status } = await gateway.exchange(contract, name, {
        params,
        ...(operation.body === undefined ? {} : { body: takesFile(operation) ? emptyFile : {} }),
      })
      const expected = isInternal(operation) ? 404 : 403
      assert.equal(status, expected, `${contract.name}.${name}`)
      refused++
    }
  }
  assert.ok(refused > 60, `${refused} operations were tried`)
})

test('refuses the operations for gateways to every other caller, regardless of permissions', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await assert.rejects(admin.gatekeeper.leaseJob({ body: { data: { workflows: ['discovery'], waitSeconds: 0 } } }), {
    code: 'forbidden',
  })
})
