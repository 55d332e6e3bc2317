import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enrolledGateway, linkReport } from '@millwright/cloud/platform/testing/gateway.ts'
import { TestPlatform } from '../testing.ts'

test('starts a discovery with a link that is named with or without the prefix of its id', async () => {
  await using platform = await TestPlatform.open()
  const admin = await platform.as('administrator')
  const gateway = await enrolledGateway(platform.hub, admin)
  const assetLinkId = 'cdm-device-class-driver-example'
  await gateway.gatekeeper.reportLinks({
    body: { data: { gatewayVersion: '1.0.0', links: [linkReport({ appInstanceId: assetLinkId })] } },
  })
  const run = (link: string) => platform.run(['discover', '--link', link, '--no-follow'], { token: admin.token })
  for (const name of ['example', assetLinkId]) {
    const { code, out, err } = await run(name)
    assert.equal(code, 0, err)
    assert.match(out + err, /Discovery \S+ is accepted/)
  }
  const { data: discoveries } = await admin.discovery.listDiscoveries({ query: {} })
  assert.deepEqual(
    discoveries.map((one) => one.assetLinkId),
    [assetLinkId, assetLinkId],
  )
  const unknown = await run('elsewhere')
  assert.equal(unknown.code, 4)
  assert.match(unknown.err, /elsewhere/)
})
