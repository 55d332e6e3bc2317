import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { UnsignedReceipt } from '@millwright/api/receipt.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import type { LocalFinding } from '@millwright/gateway/local-scan/local-scan.ts'
import { interfaceValues, switchValues, systemValues } from '@millwright/links/snmp/simulator-switch.ts'
import { startAgents } from '@millwright/links/snmp/testing.ts'
import { run } from '../program/program.ts'
import { TestPlatform, testTerminal } from '../testing.ts'
import { type FoundDevice, FoundDevices } from './found-devices.ts'

const user = { name: 'mill', authProtocol: 'sha256', authPassword: 'auth-secret', privPassword: 'priv-secret' } as const
const values = { version: '3', user: 'mill', authProtocol: 'sha256', privProtocol: 'aes128' }

const coreFacts = {
  name: 'core-1',
  objectId: '1.3.6.1.4.1.4329.6.1.2',
  mac: '00:1B:1B:61:00:00',
  ip: '127.0.61.1',
  ports: 2,
  serial: 'VP61',
  model: '6GK5 208-0BA00-2AC2',
  software: 'V04.03.00',
}
const coreSwitch = switchValues(coreFacts)
const drive = {
  ...systemValues({ name: 'drive-2', objectId: '1.3.6.1.4.1.8691.7' }),
  ...interfaceValues([{ name: 'eth0', mac: '00:0E:8C:61:00:02' }]),
}

describe('millwright scan', () => {
  let platform: TestPlatform
  let agents: Awaited<ReturnType<typeof startAgents>>
  before(async () => {
    platform = await TestPlatform.open()
    agents = await startAgents(61, [
      { community: 'public', values: coreSwitch },
      { user, values: drive },
    ])
  })
  after(async () => {
    await agents?.[Symbol.asyncDispose]()
    await platform?.[Symbol.asyncDispose]()
  })

  const scan = (args: readonly string[], options: Parameters<TestPlatform['run']>[1] = {}) =>
    platform.run(
      ['scan', '127.0.61.1-127.0.61.4', '--links', 'snmp', '--option', `snmp.port=${agents.port}`, ...args],
      options,
    )
  const list = async (args: readonly string[], token: string) =>
    JSON.parse((await platform.run([...args, '--json'], { token })).out).data
  /** The second agent does not answer to the community, so each scan of it waits for the time limit. */
  const patient = ['--option', 'snmp.timeout_ms=3000']
  const withoutProtected = ['--exclude', '127.0.61.2', '--option', 'snmp.timeout_ms=10000']
  const sentBytes = () => agents.agents.reduce((sum, { requests }) => sum + requests.length, 0)

  test('--dry-run lists the functions, the addresses and the budget, and sends nothing', async () => {
    const before = sentBytes()
    const { code, out } = await scan(['--dry-run', '--rate', '7', '--exclude', '127.0.61.2'])
    assert.equal(code, 0)
    assert.match(out, /snmp +snmp +GetBulk +0xA5 +udp/)
    assert.match(out, /would visit 3 addresses\./)
    assert.match(out, /Multicast and broadcast packets are not allowed/)
    assert.match(out, /Budget per device: 7 datagrams\/s, 7 new connections\/s, 7 requests\/s, /)
    const changed = await scan(['--dry-run', '--option', 'snmp.port=1161'])
    assert.match(changed.out, /GetBulk +0xA5 +udp\n +Port 1161: /)
    assert.doesNotMatch(changed.out, /Multicast and broadcast/)
    const twice = await platform.run(['scan', '127.0.61.1', '--dry-run', '--json', '--links', 'snmp, snmp'])
    const { multicast, sends } = JSON.parse(twice.out) as { multicast: boolean; sends: { operation: string }[] }
    assert.deepEqual([multicast, sends.filter(({ operation }) => operation === 'GetBulk').length], [true, 1])
    const unknown = await scan(['--dry-run', '--option', 'snmp.ports=1161'])
    assert.equal(unknown.code, 2)
    assert.equal(sentBytes(), before)
  })

  test('--dry-run lists the ports and functions that the options select', async () => {
    const sent = async (links: string, ...options: string[]) => {
      const texts = options.flatMap((option) => ['--option', option])
      const { code, out, err } = await platform.run([
        ...['scan', '127.0.61.1', '--dry-run', '--json', '--links', links, ...texts],
      ])
      assert.equal(code, 0, err)
      const { sends } = JSON.parse(out) as { sends: { operation: string; ports: string }[] }
      return sends.map(({ operation, ports }) => [operation, ports])
    }
    assert.deepEqual(await sent('modbus'), [
      ['Connect', '502'],
      ['ReadDeviceIdentification', '502'],
    ])
    assert.deepEqual(await sent('modbus', 'modbus.ports=5020,5100-5900', 'modbus.report_server_id=true'), [
      ['Connect', '5020,5100-5900'],
      ['ReadDeviceIdentification', '5020,5100-5900'],
      ['ReportServerId', '5020,5100-5900'],
    ])
    assert.deepEqual(await sent('ip-scan', 'ip-scan.ports=', 'ip-scan.icmp=false', 'ip-scan.reverse_dns=false'), [
      ['empty datagram', '9'],
    ])
    assert.deepEqual(new Set((await sent('snmp', 'snmp.port=1161')).map(([, ports]) => ports)), new Set(['1161']))
    assert.deepEqual(new Set((await sent('opcua', 'opcua.ports=48010')).map(([, ports]) => ports)), new Set(['48010']))
  })

  test('finds devices without a platform, also with credentials from a file, and prints a receipt', async () => {
    const file = join(platform.folder, 'credentials.json')
    const secrets = { authPassword: 'auth-secret', privPassword: 'priv-secret' }
    writeFileSync(
      file,
      JSON.stringify([{ link: 'snmp', ranges: ['127.0.61.0/24'], values: { ...values, ...secrets } }]),
    )
    chmodSync(file, 0o644)
    const refused = await scan(['--credentials', file])
    assert.equal(refused.code, 2)
    assert.match(refused.err, /Other users can read/)

    chmodSync(file, 0o600)
    const { code, out, err } = await scan(['--credentials', file, '--json', ...patient])
    assert.equal(code, 0, err)
    const { devices, errors, receipt } = JSON.parse(out) as {
      devices: FoundDevice[]
      errors: object[]
      receipt: UnsignedReceipt
    }
    assert.deepEqual(
      devices.map(({ links, address, asset }) => [links, address, asset.name]),
      [
        [['snmp'], '127.0.61.1', 'core-1'],
        [['snmp'], '127.0.61.2', 'drive-2'],
      ],
    )
    assert.deepEqual(errors, [])
    assert.deepEqual([receipt.unsigned, receipt.state, receipt.links], [true, 'finished', ['millwright.links.snmp']])
    assert.deepEqual(receipt.devices.map((one) => 'address' in one && one.address).toSorted(), [
      '127.0.61.1',
      '127.0.61.2',
      '127.0.61.3',
      '127.0.61.4',
    ])
    const permits = Object.values(receipt.totals).reduce((sum, count) => sum + count, 0)
    const silent = receipt.devices.filter((one) => 'address' in one && /[34]$/.test(one.address))
    const toSilent = silent.flatMap(({ packets }) => Object.values(packets)).reduce((sum, count) => sum + count, 0)
    assert.equal(permits - toSilent, sentBytes(), 'each datagram has its permit')
    assert.doesNotMatch(out + err, /auth-secret|priv-secret/)
  })

  test(
    'prints a table with the firmware of each device, and the receipt with one line per protocol',
    onlyInLongRuns,
    async () => {
      const { code, out, err } = await scan(withoutProtected)
      assert.equal(code, 0, err)
      assert.match(out, /^127\.0\.61\.1 +core-1 .* VP61 +V04\.03\.00 /m)
      assert.match(
        out,
        /^Receipt \(not signed\): \d+ datagrams, connections and requests to 3 addresses\n {2}snmp {2}\d+ Get/m,
      )
    },
  )

  test(
    'prints one line per device and the receipt with --ndjson, and a protected device as an error',
    onlyInLongRuns,
    async () => {
      const { code, out } = await scan(['--ndjson', ...patient])
      assert.equal(code, 0)
      const lines = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      assert.deepEqual(
        lines.map((line) => Object.keys(line)),
        [['id', 'links', 'address', 'asset'], ['error'], ['receipt']],
      )
      assert.match(lines[1].error.description, /no credentials for its address/)
    },
  )

  test('--ndjson prints a device when it is found, not at the end of the scan', onlyInLongRuns, async () => {
    const { terminal, printed, interrupt } = testTerminal({ environment: platform.environment })
    const { print } = terminal
    terminal.print = (line) => {
      if (line.includes('core-1')) interrupt()
      return print(line)
    }
    const range = ['127.0.61.1-127.0.255.254', '--links', 'snmp', '--option', `snmp.port=${agents.port}`]
    assert.equal(await run(['scan', ...range, '--ndjson'], terminal), 130)
    const { receipt } = JSON.parse(printed.out.trim().split('\n').at(-1) ?? '')
    assert.equal(receipt.state, 'canceled')
  })

  test('--save stores the devices, a second scan changes nothing, and a scan without devices exits with 0', async () => {
    const operator = await platform.as('operator')
    const first = await scan(['--save', ...withoutProtected], { token: operator.token })
    assert.equal(first.code, 0, first.err)
    assert.match(first.out, /core-1 .*VP61 +V04\.03\.00/)
    assert.match(first.out, /1 created/)
    const second = await scan(['--save', ...withoutProtected], { token: operator.token })
    assert.match(second.out, /1 unchanged/, second.err)
    const [{ source }] = await list(['assets', 'history', 'core-1'], operator.token)
    assert.deepEqual(source, { type: 'discovery', value: 'millwright scan' })

    await platform.run(['assets', 'update', 'core-1', '--name', 'Switch of line 1'], { token: operator.token })
    const third = await scan(['--save', ...withoutProtected], { token: operator.token })
    assert.match(third.out, /1 unchanged/, third.err)
    assert.equal((await list(['assets', 'list', '-q', 'VP61'], operator.token))[0].name, 'Switch of line 1')

    const nothing = await scan(['--exclude', '127.0.61.1-127.0.61.2'])
    assert.equal(nothing.code, 0)
    assert.match(nothing.out, /0 devices, 0 errors/)
  })

  test('prints no character that turns the line around or starts a new one', onlyInLongRuns, async () => {
    const name = 'left\u202eright\u2028next'
    await using others = await startAgents(62, [{ community: 'public', values: switchValues({ ...coreFacts, name }) }])
    const { err, out } = await platform.run([
      ...['scan', '127.0.62.1', '--links', 'snmp', '--option', `snmp.port=${others.port}`],
    ])
    assert.match(err, /^\+ snmp +127\.0\.62\.1 +left right.next/m)
    assert.doesNotMatch(out + err, /[\u202e\u2028]/)
  })

  test('applies the budget of a gateway on this machine', onlyInLongRuns, async () => {
    const home = join(platform.folder, 'gateway')
    mkdirSync(home)
    const limits = { perDevice: { requestsPerSecond: 3 }, excludedAddresses: ['127.0.61.1'] }
    writeFileSync(join(home, 'budget.json'), JSON.stringify(limits))
    const environment = { MILLWRIGHT_GATEWAY_HOME: home }
    const { code, out, err } = await scan(['--json', '--exclude', '127.0.61.4'], { environment })
    assert.equal(code, 0, err)
    assert.match(err, /The budget of the gateway also applies: .*budget\.json/)
    const { devices, receipt } = JSON.parse(out) as { devices: FoundDevice[]; receipt: UnsignedReceipt }
    assert.deepEqual(devices, [])
    assert.deepEqual(receipt.budget.excludedAddresses, ['127.0.61.4', '127.0.61.1'])
    assert.equal(receipt.budget.perDevice.requestsPerSecond, 3)
    assert.equal(receipt.budget.multicast, false)
    assert.deepEqual(receipt.devices.map((one) => 'address' in one && one.address).toSorted(), [
      '127.0.61.2',
      '127.0.61.3',
    ])
  })

  test('refuses a wrong range, link, option or credentials file as wrong usage', async () => {
    const wrong = [
      [['scan', '10.0.0.300'], /"10\.0\.0\.300" is not an address range/],
      [['scan', '127.0.61.1', '--links', 'fax'], /"fax" is not a link/],
      [['scan', '127.0.61.1', '--option', 'snmp.speed=1'], /the link snmp has the options/],
      [['scan', '127.0.61.1', '--option', 'fax.speed=1'], /"fax" is not a link of this scan/],
      [['scan', '127.0.61.1', '--dry-run', '--option', 'snmp.port=99999'], /"port" must contain ports from 1 to 65535/],
      [['scan', '127.0.61.1', '--option', 'snmp.timeout_ms=soon'], /timeout_ms must have the type integer/],
      [['scan', '127.0.61.1', '--credentials', '-'], /The credentials are not JSON/],
    ] as const
    for (const [args, message] of wrong) {
      const { code, err } = await platform.run(args, { input: '{"password":"hidden' })
      assert.equal(code, 2, err)
      assert.match(err, message)
      assert.doesNotMatch(err, /hidden/)
    }
  })

  test('refuses credentials that do not match a schema of their link before the scan', async () => {
    const authPassword = 'hidden-secret'
    const wrong = [
      ['snmp', { version: '9' }, /Entry 2 .*"version" must be one of 1, 2c, 3/],
      ['snmp', { version: 3 }, /Entry 2 .*"version" must be a string/],
      ['snmp', { version: '3', user: 'reader', authPassword }, /Entry 2 .*"privPassword" is missing/],
      [
        'snmp',
        { version: '3', user: 'reader', authPassword, privPassword: 'hidden' },
        /"privPassword" must have at least 8/,
      ],
      ['snmp', { version: '2c' }, /Entry 2 .*"community" is missing/],
      ['snmp', { version: '2c', comunity: 'hidden' }, /"comunity" is not a field of these credentials/],
      ['opcua', { certificate: 'hidden' }, /Entry 2 .*"private_key" is missing/],
      ['opcua', { username: 'operator' }, /Entry 2 .*"password" is missing/],
      ['fax', {}, /Entry 2 .*the link "fax" has no credentials/],
    ] as const
    const valid = { link: 'snmp', ranges: ['127.0.61.0/24'], values: { version: '2c', community: 'plant' } }
    for (const [link, given, message] of wrong) {
      const input = JSON.stringify([valid, { link, ranges: ['127.0.61.0/24'], values: given }])
      const { code, err } = await platform.run(['scan', '127.0.61.1', '--credentials', '-'], { input })
      assert.equal(code, 2, err)
      assert.match(err, message)
      assert.doesNotMatch(err, /hidden/)
    }
  })
})

test('merges the findings of several links into one device, and the more specific link wins in each field', () => {
  const mac = { asset_identifier_type: 'MacIdentifier', mac_address: '00:1B:1B:61:00:00' }
  const link = (name: string) => ({ name, appInstanceId: `millwright.links.${name}`, file: '' })
  const point = { connection_point_type: 'Ipv4Connectivity', id: 'a', ipv4_address: '10.0.0.5' }
  const product = (fields: object) => ({ product_instance_information: { manufacturer_product: fields } })
  const findings: LocalFinding[] = [
    {
      link: link('snmp'),
      address: '10.0.0.5',
      asset: {
        name: 'core-1',
        asset_identifiers: [mac],
        connection_points: [point],
        ...product({ product_name: 'XC208', manufacturer: { name: 'Siemens' } }),
      },
    },
    {
      link: link('ip-scan'),
      asset: {
        name: 'host-5.example',
        description: 'found by address',
        asset_identifiers: [mac],
        ...product({ manufacturer: { name: 'Siemens AG' } }),
      },
    },
    { link: link('modbus'), address: '10.0.0.5', asset: { asset_identifiers: [], connection_points: [point] } },
    { link: link('snmp'), asset: { name: 'other', asset_identifiers: [{ ...mac, mac_address: '00:1B:1B:61:00:09' }] } },
  ]
  for (const order of [findings, findings.toReversed()]) {
    const found = new FoundDevices()
    for (const finding of order) found.add(finding)
    const [device, other, ...more] = found.list()
    assert.deepEqual(more, [])
    assert.equal(other?.asset.name, 'other')
    assert.deepEqual(device?.links.toSorted(), ['ip-scan', 'modbus', 'snmp'])
    assert.equal(device.address, '10.0.0.5')
    assert.equal(device.asset.name, 'core-1')
    assert.equal(device.asset.description, 'found by address')
    assert.deepEqual(device.asset.product_instance_information, {
      manufacturer_product: { product_name: 'XC208', manufacturer: { name: 'Siemens' } },
    })
  }
})

test('does not merge devices by addresses that a device reports about itself', () => {
  const snmp = { name: 'snmp', appInstanceId: 'millwright.links.snmp', file: '' }
  const addresses = Array.from({ length: 2_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`)
  const mac = (index: number) => ({ asset_identifier_type: 'MacIdentifier', mac_address: `00:1B:1B:00:${index}` })
  const points = addresses.map((ipv4_address) => ({ connection_point_type: 'Ipv4Connectivity', ipv4_address }))
  const found = new FoundDevices()
  const hostile = { asset_identifiers: [mac(-1)], connection_points: points }
  found.add({ link: snmp, address: '10.9.9.9', asset: hostile })
  for (const [index, address] of addresses.entries())
    found.add({ link: snmp, address, asset: { asset_identifiers: [mac(index)] } })
  const devices = found.list()
  assert.equal(devices.length, 1 + addresses.length)
  assert.equal(devices.at(-1)?.address, '10.9.9.9')
})

test('a finding that connects two devices merges them, and the first id stays', () => {
  const link = { name: 'snmp', appInstanceId: 'millwright.links.snmp', file: '' }
  const identifier = (mac_address: string) => ({ asset_identifier_type: 'MacIdentifier', mac_address })
  const [one, two] = [identifier('00:1B:1B:00:00:01'), identifier('00:1B:1B:00:00:02')]
  const found = new FoundDevices()
  assert.equal(found.add({ link, address: '10.0.0.1', asset: { asset_identifiers: [one] } })?.id, 'device-1')
  assert.equal(found.add({ link, address: '10.0.0.2', asset: { asset_identifiers: [two] } })?.id, 'device-2')
  assert.equal(found.add({ link, address: '10.0.0.2', asset: { asset_identifiers: [one] } }), undefined)
  assert.deepEqual([found.currentId('device-1'), found.currentId('device-2')], ['device-1', 'device-1'])
  assert.deepEqual(
    found.list().map(({ id, asset }) => [id, asset.asset_identifiers]),
    [['device-1', [one, two]]],
  )
})
