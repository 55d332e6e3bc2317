import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { contracts } from '@millwright/api/contracts.ts'
import type { AssetCredentialInstance, CredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { enrolledGateway, linkReport } from '../../platform/testing/gateway.ts'
import { testHub } from '../../platform/testing/hub.ts'
import { createTestAsset, newInstance, password, schema } from './testing.ts'

const page = await readFile(new URL('../../../docs/how-to/set-up-credentials.md', import.meta.url), 'utf8')

type Opened = { assetId: string; instanceId: string }
type Monitor = (given: {
  baseUrl: string
  token: string
  gatewayId: string
  instances: object[]
  scan: (instances: CredentialInstance[]) => Promise<Opened[]>
}) => Promise<Map<string, AssetCredentialInstance[]>>

/** Returns the client from the documentation page, so that the test runs it as a reader would. */
async function clientOnThePage(): Promise<Monitor> {
  const [, code = assert.fail('the page contains no client')] = /```js\n([\s\S]*?)```/.exec(page) ?? []
  const module = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  return module.monitor
}

test('completes the monitoring workflow with the documented example client and the role credential_manager', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const manager = await hub.as('credential_manager')
  const gateway = await enrolledGateway(hub, admin)
  const links = [linkReport({ credentialSchemas: [{ uri: 'urn:link', schema: JSON.stringify(schema) }] })]
  await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links } } })
  const [pump, drive] = [await createTestAsset(admin, 'pump'), await createTestAsset(admin, 'drive')]
  const instances = ['hall 1', 'hall 2'].map((name, index) => {
    const { schemaId: _, ...instance } = newInstance('', { name, metadata: { ipRanges: [`10.${index}.0.0/16`] } })
    return instance
  })

  const monitor = await clientOnThePage()
  const monitored = await monitor({
    baseUrl: await hub.listen(),
    token: manager.token,
    gatewayId: gateway.id,
    instances,
    scan: async ([first, second]) => [
      { assetId: pump, instanceId: first?.id ?? '' },
      { assetId: drive, instanceId: second?.id ?? '' },
    ],
  })

  const shown = [pump, drive].map((asset) => monitored.get(asset)?.map(({ name, values }) => [name, values.password]))
  assert.deepEqual(shown, [[['hall 1', '***']], [['hall 2', '***']]])
  assert.ok(!JSON.stringify([...monitored]).includes(password))
})

test('documents only API paths that exist in the contracts', () => {
  const paths = Object.values(contracts).flatMap(({ prefix, operations }) =>
    Object.values(operations).map(({ path }) => new RegExp(`^${(prefix + path).replace(/\{\w+\}/g, '[^/]+')}$`)),
  )
  const mentioned = [...page.matchAll(/(?:\$B|['`])(\/(?:credentials|inventory)\/v2\/[^?"'`\s]+)/g)].map(
    ([, path]) => path ?? '',
  )
  assert.ok(mentioned.length > 8)
  for (const path of mentioned)
    assert.ok(
      paths.some((known) => known.test(path.replace(/\$\{[^}]*\}/g, 'x'))),
      path,
    )
})
