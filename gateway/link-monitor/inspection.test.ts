import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interfaceName, linkServices } from '@millwright/api/link-protocol.ts'
import type { SentFunction } from '@millwright/api/sent-function.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { inspect } from './inspection.ts'

async function sendsOf(sends: readonly SentFunction[] | undefined): Promise<SentFunction[] | undefined> {
  const manifest = { id: 'test.inspected', name: 'Inspected', vendor: 'Test', version: '1.0.0' }
  await using link = await startLink(
    { manifest: sends === undefined ? manifest : { ...manifest, sends }, discover: async function* () {} },
    { logLevel: 'error' },
  )
  const registration = {
    ...{ appInstanceId: manifest.id, host: '127.0.0.1', addressedBy: 'number' as const, port: link.port },
    ...{ appTypes: [], driverSchemaUris: [], vendor: 'millwright' },
    interfaces: [linkServices.discover, linkServices.sentFunctions].map((service) => interfaceName(service)),
  }
  return (await inspect(registration, AbortSignal.timeout(60_000))).sends
}

test('inspect reads the functions that a link sends', async () => {
  const sends: SentFunction[] = [
    {
      ...{ protocol: 'x', operation: 'Read', code: '0x03', transport: 'tcp', ports: [502], portsOption: 'ports' },
      ...{ onlyIf: 'deep', description: 'Reads' },
    },
    { protocol: 'x', operation: 'Echo', transport: 'icmp', description: '' },
  ]
  assert.deepEqual(await sendsOf(sends), sends)
  assert.deepEqual(await sendsOf([]), [])
})

test('inspect leaves out invalid functions, and has no list for a link without a table', async () => {
  const valid: SentFunction = { protocol: 'x', operation: 'Echo', transport: 'icmp', description: '' }
  const invalid = { ...valid, protocol: '' }
  assert.deepEqual(await sendsOf([invalid, valid]), [valid])
  assert.equal(await sendsOf(undefined), undefined)
})
