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

test('millwright discover --dry-run lists what the link would send with its options, and starts no scan', async () => {
  await using platform = await TestPlatform.open()
  const admin = await platform.as('administrator')
  const gateway = await enrolledGateway(platform.hub, admin)
  const text = (key: string, defaultValue?: unknown) => ({
    key,
    dataType: 'text' as const,
    mandatory: false,
    defaultValue,
  })
  const sent = { protocol: 'modbus', transport: 'tcp' as const, ports: [502], portsOption: 'ports' }
  const budgeted = linkReport({
    appInstanceId: 'millwright.links.modbus',
    filters: [text('ip_range'), text('exclude')],
    options: [text('ports', '502'), text('report_server_id', false)],
    sends: [
      { ...sent, operation: 'ReadDeviceIdentification', code: '0x2B/0x0E', description: 'Reads the nameplate' },
      { ...sent, operation: 'ReportServerId', code: '0x11', onlyIf: 'report_server_id', description: 'Reads the id' },
    ],
  })
  await gateway.gatekeeper.reportLinks({
    body: { data: { gatewayVersion: '1.0.0', links: [budgeted, linkReport({ appInstanceId: 'foreign' })] } },
  })
  const run = (...args: string[]) => platform.run(['discover', '--dry-run', ...args], { token: admin.token })
  const range = ['--link', 'modbus', '--filter', 'ip_range=10.0.0.0/24', '--filter', 'exclude=10.0.0.9']
  const plain = await run(...range)
  assert.match(plain.out, /modbus +ReadDeviceIdentification +0x2B\/0x0E +tcp\n +Port 502: /)
  assert.doesNotMatch(plain.out, /ReportServerId/)
  assert.match(plain.out, /would visit 255 addresses\. The budget of the gateway applies/)
  const changed = await run(...range, '--option', 'ports=5020-5022', '--option', 'report_server_id=true', '--json')
  const { data } = JSON.parse(changed.out)
  assert.deepEqual(
    data.sends.map(({ operation, ports }: Record<string, string>) => `${operation} ${ports}`),
    ['ReadDeviceIdentification 5020-5022', 'ReportServerId 5020-5022'],
  )
  assert.equal(data.addresses, 255)
  const wrong = await run('--link', 'modbus', '--option', 'port=1')
  assert.deepEqual([wrong.code, /the link declares ports, report_server_id/.test(wrong.err)], [2, true])
  const foreign = await run('--link', 'foreign')
  assert.deepEqual([foreign.code, /does not list what it sends/.test(foreign.err)], [4, true])
  assert.deepEqual((await admin.discovery.listDiscoveries({ query: {} })).data, [])
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
