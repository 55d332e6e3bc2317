import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import multicastDns from 'multicast-dns'
import { capturedPackets } from '../testing/packet-capture.ts'
import type { SimulatedDevice } from './simulator.ts'
import { host, resultsOf } from './testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'millwright-mdns-'))
after(() => rmSync(folder, { recursive: true }))

test('a responder with multicast-dns is read', async () => {
  const socket = createSocket('udp4')
  socket.bind(0, host)
  await once(socket, 'listening')
  const { port } = socket.address()
  // Without multicast, nothing leaves loopback.
  const responder = multicastDns({ socket, bind: false, multicast: false, port } as unknown as multicastDns.Options)
  const records: { name: string; type: string; data: unknown }[] = [
    { name: '_services._dns-sd._udp.local', type: 'PTR', data: '_ipp._tcp.local' },
    { name: '_ipp._tcp.local', type: 'PTR', data: 'Label printer._ipp._tcp.local' },
    { name: 'Label printer._ipp._tcp.local', type: 'SRV', data: { port: 631, target: 'label.local' } },
    { name: 'Label printer._ipp._tcp.local', type: 'TXT', data: ['mfg=Acme', 'mdl=L1', 'sn=77'] },
    { name: 'label.local', type: 'A', data: host },
  ]
  responder.on('query', ({ id, questions = [] }, from) => {
    const answers = records.filter(({ name, type }) => questions.some((one) => one.name === name && one.type === type))
    if (answers.length === 0) return
    const answer = { id, questions, answers } as unknown as Parameters<typeof responder.respond>[0]
    responder.respond(answer, from)
  })
  try {
    const results = await resultsOf({ options: { ports: String(port), timeout_ms: 500 } })
    assert.deepEqual(errorsIn(results), [])
    const [asset] = assetsIn(results)
    assert.equal(asset?.name, 'Label printer')
    assert.match(JSON.stringify(asset?.asset_identifiers), /"Acme".*"L1".*"77"/)
  } finally {
    await new Promise<void>((resolve) => responder.destroy(() => resolve()))
  }
})

const avahiConfiguration = `[server]
host-name=gateway-7
use-ipv4=yes
use-ipv6=no
enable-dbus=no
allow-interfaces=eth0
[publish]
publish-workstation=yes
publish-hinfo=yes
`

const avahiService = `<?xml version="1.0" standalone='no'?>
<!DOCTYPE service-group SYSTEM "avahi-service.dtd">
<service-group>
  <name>Gateway</name>
  <service>
    <type>_assetlink._tcp</type>
    <port>4711</port>
    <txt-record>vendor=Acme</txt-record>
    <txt-record>model=GW 300</txt-record>
    <txt-record>serial=G-0001</txt-record>
    <txt-record>firmware=1.4.2</txt-record>
  </service>
  <service><type>_http._tcp</type><port>80</port></service>
</service-group>
`

const camera: SimulatedDevice = {
  hostName: 'axis-accc8e123456',
  services: [
    { type: '_axis-video._tcp', name: 'AXIS P5534 - ACCC8E123456', port: 80, txt: ['macaddress=ACCC8E123456'] },
  ],
}

function missingTool(): string | undefined {
  for (const tool of ['unshare', 'nsenter', 'ip', 'tcpdump', 'avahi-daemon', 'bash'])
    if (spawnSync('which', [tool]).status !== 0) return `${tool} is not installed`
  const probe = ['-n', '-m', 'ip', 'link', 'add', 'probe0', 'type', 'veth', 'peer', 'name', 'probe1']
  return spawnSync('unshare', probe).status === 0 ? undefined : 'network namespaces need more rights'
}

type SegmentScan = { assets: Asset[]; errors: string[]; permits: Record<string, number> }

/** Runs the scans of `segment-scan.ts` in new namespaces, and returns the results with the packets of the scanner. */
function scanSegment() {
  const capture = join(folder, 'capture.pcap')
  writeFileSync(join(folder, 'avahi.conf'), avahiConfiguration)
  writeFileSync(join(folder, 'device.service'), avahiService)
  writeFileSync(join(folder, 'device.json'), JSON.stringify(camera))
  const script = join(import.meta.dirname, 'segment.sh')
  const args = ['-n', '-m', 'bash', script, process.execPath, folder, capture]
  const { status, stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8', timeout: 240_000 })
  assert.equal(status, 0, stderr)
  const result = JSON.parse(stdout) as Record<'unicast' | 'multicast' | 'part' | 'excluded', SegmentScan>
  return { result, packets: capturedPackets(readFileSync(capture)).filter(({ from }) => from === '10.78.0.1') }
}

test('avahi-daemon and the simulator are found by unicast and by multicast, with one datagram per permit', (t) => {
  const missing = missingTool()
  if (missing !== undefined) return t.skip(missing)
  const { result, packets } = scanSegment()
  const namesOf = ({ assets }: SegmentScan) => assets.map(({ name }) => name).toSorted()

  for (const scan of [result.unicast, result.multicast]) {
    assert.deepEqual(scan.errors, [])
    assert.deepEqual(namesOf(scan), ['AXIS P5534 - ACCC8E123456', 'Gateway'])
    const gateway = JSON.stringify(scan.assets.find(({ name }) => name === 'Gateway'))
    assert.match(gateway, /"vendor":"Acme","article_number":"GW 300","serial_number":"G-0001"/)
    assert.match(gateway, /"mac_address":"00:1B:1B:78:00:02"/)
    assert.match(gateway, /"version":"1.4.2"/)
    assert.match(gateway, /"_assetlink._tcp 4711, _http._tcp 80, _workstation._tcp 9"/)
  }
  const group = '224.0.0.251 Multicast PTR query'
  assert.equal(result.unicast.permits[group], undefined)
  assert.equal(result.multicast.permits[group], 2)
  const queried = Object.keys(result.multicast.permits).map((key) => key.split(' ')[0])
  assert.deepEqual([...new Set(queried)].toSorted(), ['10.78.0.2', '10.78.0.3', '224.0.0.251'])

  assert.deepEqual(namesOf(result.part), ['AXIS P5534 - ACCC8E123456'])
  assert.ok(Object.keys(result.part.permits).every((key) => !key.startsWith('10.78.0.2 ')))

  assert.equal(result.excluded.permits[group], undefined)
  assert.deepEqual(namesOf(result.excluded), ['AXIS P5534 - ACCC8E123456'])
  assert.match(result.excluded.errors[0] ?? '', /also excluded ones.*queries each address of the segment instead/)

  // Addresses without a device receive nothing, because the scanner does not find their MAC address.
  const taken: Record<string, number> = {}
  for (const { permits } of Object.values(result))
    for (const [key, count] of Object.entries(permits)) {
      const address = key.split(' ')[0] ?? ''
      if (!/\.[456]$/.test(address)) taken[address] = (taken[address] ?? 0) + count
    }
  const sent: Record<string, number> = {}
  for (const { to, transport, port } of packets) {
    if (transport === 'igmp' || transport === 'icmp') continue
    assert.deepEqual([transport, port], ['udp', 5353])
    sent[to] = (sent[to] ?? 0) + 1
  }
  assert.deepEqual(sent, taken)
})
