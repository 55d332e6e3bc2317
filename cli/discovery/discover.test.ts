import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AssetLink } from '@millwright/api/discovery.ts'
import { enrolledGateway, linkReport } from '@millwright/cloud/platform/testing/gateway.ts'
import { TestPlatform } from '../testing.ts'
import { noUsableLink } from './discover.ts'

test('millwright discover selects a link by id, by name or by its required filters, and exits with 4 for an unknown link', async () => {
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
    assert.match(out + err, /Scan \S+ accepted/)
  }
  const { data: discoveries } = await admin.discovery.listDiscoveries({ query: {} })
  assert.deepEqual(
    discoveries.map((one) => one.assetLinkId),
    [assetLinkId, assetLinkId],
  )
  const range = { key: 'ip_range', dataType: 'text' as const, mandatory: true }
  const interfaces = [...linkReport().interfaces, 'millwright.safety.permits.v1']
  const snmp = linkReport({ appInstanceId: 'millwright.links.snmp', filters: [range], interfaces })
  await gateway.gatekeeper.reportLinks({
    body: { data: { gatewayVersion: '1.0.0', links: [linkReport({ appInstanceId: assetLinkId }), snmp] } },
  })
  const { out: listed } = await platform.run(['gateway', 'links'], { token: admin.token })
  assert.match(listed, new RegExp(`^${assetLinkId} .* not budgeted `, 'm'))
  assert.match(listed, /^millwright\.links\.snmp .* budgeted /m)
  assert.doesNotMatch(listed, /^millwright\.links\.snmp .*not budgeted/m)
  const scan = (...args: string[]) => platform.run(['discover', '--no-follow', ...args], { token: admin.token })
  const latest = async () => (await admin.discovery.listDiscoveries({ query: { limit: 1 } })).data[0]?.assetLinkId
  assert.equal((await scan()).code, 0, 'the only link that needs no range')
  assert.equal(await latest(), assetLinkId)
  assert.equal((await scan('--link', 'snmp', '--filter', 'ip_range=10.0.0.0/24')).code, 0)
  assert.equal(await latest(), 'millwright.links.snmp')
  const several = await scan('--filter', 'ip_range=10.0.0.0/24')
  assert.deepEqual([several.code, /several links/.test(several.err)], [2, true])
  const unknown = await run('elsewhere')
  assert.equal(unknown.code, 4)
  assert.match(unknown.err, /elsewhere/)
})

test('noUsableLink lists each link with the reason why it cannot scan', () => {
  const link = (assetLinkId: string, about: Partial<AssetLink>) => ({ assetLinkId, ...about }) as AssetLink
  const message = noUsableLink([
    link('plant', { reachable: false, problem: 'The gateway was revoked' }),
    link('ovens', { compatible: false, incompatibility: 'The gateway has version 0.3.9', problem: 'slow' }),
    link('pumps', { reachable: false }),
  ])
  assert.equal(
    message,
    [
      'The gateway has no usable link.',
      '  plant: The gateway was revoked',
      '  ovens: The gateway has version 0.3.9',
      '  pumps: not reachable',
    ].join('\n'),
  )
  assert.equal(noUsableLink([]), 'The gateway has no usable link.')
})
