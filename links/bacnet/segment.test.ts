import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { capturedPackets } from '../testing/packet-capture.ts'
import type { SimulatedDevice } from './simulator.ts'
import { controller } from './testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'millwright-bacnet-'))
after(() => rmSync(folder, { recursive: true }))

type ScannedSegment = {
  assets: { name: string; asset_identifiers: { mac_address?: string }[] }[]
  errors: string[]
  taken: string[]
}

const broadcast = '10.79.0.255'
/** A device, a router whose devices answer with broadcasts, and a device that answers with broadcasts. */
const devices: SimulatedDevice[] = [
  { ...controller, broadcast },
  {
    instance: 50,
    properties: { '77': 'Router' },
    broadcast,
    behind: { '7:01': { instance: 51, iAm: 'broadcast', properties: { '77': 'Room' } } },
  },
  { instance: 60, properties: { '77': 'Broadcasting' }, broadcast, iAm: 'broadcast' },
]

function missingTool(): string | undefined {
  for (const tool of ['unshare', 'ip', 'tcpdump', 'nsenter', 'bash'])
    if (spawnSync('which', [tool]).status !== 0) return `${tool} is not installed`
  const isAllowed =
    spawnSync('unshare', ['-n', 'ip', 'link', 'add', 'probe0', 'type', 'veth', 'peer', 'name', 'probe1']).status === 0
  return isAllowed ? undefined : 'network namespaces need more rights'
}

test('devices of a segment are found with single requests and with a broadcast, and each packet has a permit', (t) => {
  const missing = missingTool()
  if (missing !== undefined) return t.skip(missing)
  const files = devices.map((device, index) => {
    const file = join(folder, `device${index}.json`)
    writeFileSync(file, JSON.stringify(device))
    return file
  })
  const capture = join(folder, 'capture.pcap')
  const script = join(import.meta.dirname, 'segment.sh')
  const { status, stdout, stderr } = spawnSync('unshare', ['-n', 'bash', script, process.execPath, capture, ...files], {
    encoding: 'utf8',
    timeout: 120_000,
  })
  assert.equal(status, 0, stderr)
  const [single, together] = stdout
    .trim()
    .split('\n')
    .map((line): ScannedSegment => JSON.parse(line))
  assert.ok(single !== undefined && together !== undefined)
  const namesIn = ({ assets }: ScannedSegment) => assets.map(({ name }) => name).toSorted()
  assert.deepEqual([...single.errors, ...together.errors], [])
  assert.deepEqual(namesIn(single), ['AHU 3', 'Broadcasting', 'Router'])
  assert.deepEqual(namesIn(together), ['AHU 3', 'Broadcasting', 'Room', 'Router'])
  const macs = together.assets.flatMap(({ asset_identifiers }) => asset_identifiers.map((one) => one.mac_address ?? []))
  assert.ok(macs.flat().includes('02:00:5E:00:01:02'))
  assert.deepEqual(
    together.taken.filter((taken) => !taken.startsWith('ReadPropertyMultiple')),
    [`BroadcastWhoIs ${broadcast}`],
  )
  const sent = capturedPackets(readFileSync(capture)).filter(
    ({ from, transport }) => from === '10.79.0.1' && transport === 'udp',
  )
  assert.ok(sent.every(({ port }) => port === 47_808))
  const permitted = [...single.taken, ...together.taken].map((taken) => taken.split(' ')[1])
  const isSilent = (address: string | undefined) => Number(address?.split('.')[3]) > 4 && address !== broadcast
  assert.deepEqual(
    sent
      .map(({ to }) => to)
      .filter((to) => !isSilent(to))
      .toSorted(),
    permitted.filter((to) => !isSilent(to)).toSorted(),
    'addresses without a host receive only ARP requests',
  )
})
