import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import fc from 'fast-check'
import { type CapturedPacket, capturedPackets, isConnection } from '../testing/packet-capture.ts'
import { namesIn } from './dns-query.ts'
import { hostNames, validName } from './host-name.ts'
import { openPing } from './ping.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const folder = mkdtempSync(join(tmpdir(), 'ip-scan-'))
after(() => rmSync(folder, { recursive: true }))

type ScannedSegment = {
  assets: { asset_identifiers: { mac_address: string }[]; instance_annotations?: { value: string }[] }[]
  errors: string[]
  permits: Record<string, number>
  milliseconds: number
}

/** Runs a scan in a new network namespace, and returns its result with the packets that left the scanner. */
function scanSegment(live: number): { result: ScannedSegment; packets: CapturedPacket[] } {
  const capture = join(folder, 'capture.pcap')
  const script = join(import.meta.dirname, 'segment.sh')
  const { status, stdout, stderr } = spawnSync(
    'unshare',
    ['-n', 'bash', script, process.execPath, String(live), capture],
    {
      encoding: 'utf8',
      timeout: 240_000,
    },
  )
  assert.equal(status, 0, stderr)
  return { result: JSON.parse(stdout), packets: capturedPackets(readFileSync(capture)) }
}

function missingTool(): string | undefined {
  for (const tool of ['unshare', 'ip', 'tcpdump', 'nsenter', 'bash'])
    if (spawnSync('which', [tool]).status !== 0) return `${tool} is not installed`
  const isAllowed =
    spawnSync('unshare', ['-n', 'ip', 'link', 'add', 'probe0', 'type', 'veth', 'peer', 'name', 'probe1']).status === 0
  return isAllowed ? undefined : 'network namespaces need more rights'
}

test('a scan of a /24 with 30 devices finds all of them, and sends one packet per permit and no data', (t) => {
  const missing = missingTool()
  if (missing !== undefined) return t.skip(missing)
  const { result, packets } = scanSegment(30)
  const macs = result.assets.map(({ asset_identifiers }) => asset_identifiers[0]?.mac_address)
  assert.deepEqual(result.errors, [])
  assert.equal(new Set(macs).size, 31, 'thirty devices and the scanner')
  assert.ok(macs.includes('02:00:5E:00:00:10'))

  const requests = packets.filter(isConnection)
  assert.ok(packets.every(({ transport, payloadBytes }) => transport === 'tcp' && payloadBytes === 0))
  // The scanner itself is reached without the network. Addresses without a device receive nothing.
  assert.equal(requests.length, 30 * 16)
  assert.equal(result.permits['tcp connect'], 31 * 16 + (254 - 31))
})

test('ping sends one echo request without data, and is not used if it fails', async () => {
  const program = join(folder, 'ping')
  const calls = join(folder, 'calls')
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$*" >> ${calls}\ncase "$*" in *127.0.0.9) exit 1;; esac\n`)
  chmodSync(program, 0o755)
  const ping = await openPing(program)
  assert.ok(ping !== undefined)
  const probe = { localAddress: '127.0.0.1', timeoutMs: 900, signal: new AbortController().signal }
  assert.equal(await ping({ ...probe, address: '127.0.0.8' }), true)
  assert.equal(await ping({ ...probe, address: '127.0.0.9' }), false)
  assert.deepEqual(readFileSync(calls, 'utf8').trim().split('\n'), [
    '-n -q -c 1 -s 0 -W 1 127.0.0.1',
    '-n -q -c 1 -s 0 -W 1 -I 127.0.0.1 127.0.0.8',
    '-n -q -c 1 -s 0 -W 1 -I 127.0.0.1 127.0.0.9',
  ])
  const controller = new AbortController()
  const waiting = ping({ ...probe, address: '127.0.0.8', signal: controller.signal })
  controller.abort()
  await assert.rejects(waiting, { name: 'AbortError' })
  assert.equal(await openPing(join(folder, 'missing')), undefined)
  writeFileSync(program, '#!/bin/sh\nexit 2\n')
  assert.equal(await openPing(program), undefined)
})

test('ping of this machine answers, if it is installed', async (t) => {
  if (spawnSync('which', ['ping']).status !== 0) return t.skip('ping is not installed')
  const ping = await openPing()
  if (ping === undefined) return t.skip('ping has no right to send')
  const probe = { localAddress: undefined, timeoutMs: 900, signal: new AbortController().signal }
  assert.equal(await ping({ ...probe, address: '127.0.0.2' }), true)
})

/** A DNS server that answers each query with a name, with nothing, or not at all. */
async function dnsServer(nameOf: (query: string) => string | undefined | 'silent' | 'truncated') {
  const queries: string[] = []
  const socket = createSocket('udp4', (query, { port, address }) => {
    const labels = labelsIn(query.subarray(12))
    queries.push(labels.join('.'))
    const name = nameOf(labels.join('.'))
    if (name === 'silent') return
    if (name === 'truncated') {
      const answer = Buffer.from(query)
      answer.writeUInt16BE(0x8380, 2)
      socket.send(answer, port, address)
      return
    }
    const question = query.subarray(12, 12 + labels.reduce((sum, label) => sum + label.length + 1, 0) + 5)
    const header = Buffer.from(query.subarray(0, 12))
    header.writeUInt16BE(name === undefined ? 0x8183 : 0x8180, 2)
    header.writeUInt32BE(name === undefined ? 0x0001_0000 : 0x0001_0001, 4)
    header.writeUInt32BE(0, 8)
    const data = Buffer.concat([
      ...(name ?? '').split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
      Buffer.from([0]),
    ])
    const record = Buffer.concat([Buffer.from([0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 60, 0, data.length]), data])
    socket.send(Buffer.concat([header, question, ...(name === undefined ? [] : [record])]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { server: `127.0.0.1:${socket.address().port}`, queries, [Symbol.dispose]: () => void socket.close() }
}

function labelsIn(bytes: Buffer): string[] {
  const labels: string[] = []
  for (let at = 0; (bytes[at] ?? 0) > 0; at += (bytes[at] ?? 0) + 1)
    labels.push(bytes.subarray(at + 1, at + 1 + (bytes[at] ?? 0)).toString())
  return labels
}

test('hostNames queries one name per device, with one permit for each query to the server', async () => {
  using dns = await dnsServer((query) => (query.startsWith('1.') ? 'plc-1.plant.example' : undefined))
  const permits = unlimitedPermits()
  const names = hostNames({ server: dns.server, permits, signal: new AbortController().signal, log })
  assert.equal(await names('10.0.0.1'), 'plc-1.plant.example')
  assert.equal(await names('10.0.0.2'), undefined)
  assert.deepEqual(dns.queries, ['1.0.0.10.in-addr.arpa', '2.0.0.10.in-addr.arpa'])
  assert.deepEqual(
    permits.taken.map(({ address, protocol, kind }) => [address, protocol, kind]),
    dns.queries.map(() => ['127.0.0.1', 'dns', 'datagram_request']),
  )
})

test('hostNames uses an answer that arrives after a pause of the process', async () => {
  using dns = await dnsServer(() => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200)
    return 'plc-1.plant.example'
  })
  const options = { server: dns.server, permits: unlimitedPermits(), signal: new AbortController().signal, log }
  assert.equal(await hostNames(options)('10.0.0.1'), 'plc-1.plant.example')
})

/**
 * Starts a DNS server whose answers are truncated, and a TCP server at the same port. If another program uses the TCP port,
 * both servers start at another port.
 */
async function truncatingServers(onConnection: (socket: Socket) => void) {
  for (;;) {
    const dns = await dnsServer(() => 'truncated')
    const [host = '', port = ''] = dns.server.split(':')
    const server = createServer(onConnection)
    try {
      await once(server.listen(Number(port), host), 'listening')
      return { dns, server }
    } catch (error) {
      dns[Symbol.dispose]()
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}

test('hostNames does not repeat a truncated answer over TCP', async () => {
  let connections = 0
  const servers = await truncatingServers((socket) => {
    connections += 1
    socket.destroy()
  })
  using dns = servers.dns
  const permits = unlimitedPermits()
  const names = hostNames({ server: dns.server, permits, signal: new AbortController().signal, log })
  assert.equal(await names('10.0.0.1'), undefined)
  assert.equal(await names('10.0.0.2'), undefined, 'the server is still used')
  servers.server.close()
  assert.deepEqual([dns.queries.length, permits.taken.length, connections], [2, 2, 0])
})

test('namesIn accepts every message, and pointers cause no endless loop', () => {
  const header = [0x12, 0x34, 0x81, 0x80, 0, 1, 0xff, 0xff, 0, 0, 0, 0]
  assert.deepEqual(namesIn(Buffer.from([...header, 0xc0, 12])), [])
  assert.deepEqual(namesIn(Buffer.from([...header, 1, 97, 0xc0, 12])), [])
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      const names = namesIn(Buffer.from([...header, ...bytes]))
      assert.ok(names.every((name) => name.length <= 64 * 127))
    }),
    { numRuns: 2_000 },
  )
})

test('hostNames sends no further queries to a server that does not answer', async () => {
  using dns = await dnsServer(() => 'silent')
  const permits = unlimitedPermits()
  const names = hostNames({ server: dns.server, permits, signal: new AbortController().signal, log })
  for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) assert.equal(await names(address), undefined)
  assert.deepEqual([dns.queries.length, permits.taken.length], [1, 1])
})

test('validName accepts only host names', () => {
  assert.equal(validName('plc-1.plant.example.'), 'plc-1.plant.example')
  for (const name of [
    '',
    '.',
    '10.0.0.1',
    'a b',
    '<script>',
    `${'a'.repeat(64)}.example`,
    'a'.repeat(300),
    '-a',
    'ä.example',
  ])
    assert.equal(validName(name), undefined, name)
})

test('validName returns a short name with the characters of host names, or undefined, for any text', () => {
  const part = fc.oneof(fc.constantFrom('plc-1', '.', '-', '_', 'example', '10.0.0.1', 'a'.repeat(64)), fc.string())
  fc.assert(
    fc.property(fc.array(part, { maxLength: 200 }), (parts) => {
      const name = validName(parts.join(''))
      return name === undefined || (name.length <= 253 && /^[\w.-]+$/.test(name))
    }),
  )
})
