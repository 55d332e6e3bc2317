import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { authorization } from '@millwright/api/authorization.ts'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { defaultRemotePolicy, remoteAccess, remoteAccessLimits, tunnelProtocol } from '@millwright/api/remote-access.ts'
import { WebSocket } from 'ws'
import { cpuMicros, type Round, roundOf } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import { bearer, type PlatformProcess, startPlatform, tokenFor, withHome } from './platform-process.ts'
import type { DevicePorts, GatewaysCommand } from './remote-gateways.ts'
import type { Report, Row } from './report.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'

const transferMs = 8_000
const keystrokes = 1_000
const sessionsOfGateway = remoteAccessLimits.sessionsPerGateway
const idleSessions = remoteAccessLimits.sessionsPerTenant
const gateways = idleSessions / sessionsOfGateway
const openedAtOnce = 8
const idleMs = 10_000
const goals = { megabytesPerSecond: 50, keystrokeMs: 10, idleCpuPercent: 25 } as const

type Api = {
  token: string
  url: string
  authorization: Client<typeof authorization>
  onboarding: Client<typeof onboarding>
  inventory: Client<typeof inventory>
  remoteAccess: Client<typeof remoteAccess>
}

type Plant = {
  api: Api
  ports: DevicePorts
  platform: PlatformProcess
  gatewayProcess: WorkerProcess<GatewaysCommand>
  /** The asset of each gateway. */
  assets: string[]
}

/**
 * Measures remote access on its whole way: a client in this process, the platform in a second process, and gateways with
 * a device in a third process.
 */
export async function remote({ profile }: BenchOptions): Promise<Report> {
  return withHome(async (home) => {
    const nodeOptions = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
    const platform = await startPlatform({ home, nodeOptions, environment: { MILLWRIGHT_LOCAL_GATEWAY: 'off' } })
    const { ready: ports, ...gatewayProcess } = await startWorkerProcess<GatewaysCommand, DevicePorts>(
      './remote-gateways.ts',
      { execArgv: nodeOptions },
    )
    try {
      const api = await apiOf(platform)
      const plant: Plant = { api, ports, platform, gatewayProcess, assets: [] }
      await growPlant(plant, home)
      const rows: Row[] = []
      const fromDevice = await transfer(plant, 'source')
      const toDevice = await transfer(plant, 'sink')
      rows.push(fromDevice.row, toDevice.row)
      const direct = await measureDirect(ports.echo)
      const session = await openSession(plant, { asset: 0, port: ports.echo })
      const through = await measureStream(api, session)
      const busy = await whileTransferring(plant, () => measureStream(api, session))
      rows.push(keyRow('key, direct connection', direct), keyRow('key, through the platform', through))
      rows.push(keyRow('key, during a transfer', busy))
      const many = await manySessions(plant)
      rows.push(...many.rows)
      const idle = await idleCost(plant, many.sessions)
      rows.push(...idle.rows)
      const slowest = Math.min(fromDevice.rate, toDevice.rate)
      const added = through.p50Ms - direct.p50Ms
      return {
        title: 'remote: sessions through platform, tunnel and gateway',
        rows,
        goals: [
          {
            goal: `${goals.megabytesPerSecond} MB/s of raw TCP through one tunnel`,
            found: `${Math.round(slowest)} MB/s`,
            reached: slowest >= goals.megabytesPerSecond,
          },
          {
            goal: `a key needs less than ${goals.keystrokeMs} ms more than on a direct connection`,
            found: `${added.toFixed(1)} ms more`,
            reached: added < goals.keystrokeMs,
          },
          {
            goal: `${sessionsOfGateway} sessions on one gateway work at the same time`,
            found: `${Math.round(many.round.p99Ms)} ms for a key (99 %)`,
            reached: many.round.count > sessionsOfGateway,
          },
          {
            goal: `${idleSessions.toLocaleString('en')} idle sessions need less than ${goals.idleCpuPercent} % of one core`,
            found: `${idle.cpuPercent.toFixed(1)} %`,
            reached: idle.cpuPercent < goals.idleCpuPercent,
          },
        ],
      }
    } finally {
      await gatewayProcess.stop()
      await platform.stop()
    }
  })
}

async function apiOf(platform: PlatformProcess): Promise<Api> {
  const token = await tokenFor(platform)
  const transport = overHttp({ baseUrl: platform.url, token: () => token })
  return {
    token,
    url: platform.url,
    authorization: client(authorization, transport),
    onboarding: client(onboarding, transport),
    inventory: client(inventory, transport),
    remoteAccess: client(remoteAccess, transport),
  }
}

/** Creates the gateways, and one asset for each of them. All assets have the address of the device. */
async function growPlant({ api, ports, platform, gatewayProcess, assets }: Plant, home: string): Promise<void> {
  const { data: group } = await api.authorization.createAccessGroup({ body: { data: { name: 'Remote' } } })
  const policy = { ...defaultRemotePolicy, ports: Object.values(ports) }
  await api.remoteAccess.putPolicy({ params: { accessGroup: group.id }, body: { data: policy } })
  for (let index = 0; index < gateways; index++) {
    const folder = join(home, `gateway-${index}`)
    await mkdir(folder)
    const { data } = await api.onboarding.createGateway({ body: { data: { name: `Gateway ${index}` } } })
    const config = await api.onboarding.createGatewayConfig({ params: { id: data.id } })
    await writeFile(join(folder, 'gateway-config.json'), JSON.stringify(config))
    await gatewayProcess.request({ kind: 'start', folder })
    const assetId = await createAsset(api, { index, groupId: group.id })
    await platform.request({ kind: 'store an address', assetId, gatewayId: data.id, address: '127.0.0.1' })
    assets.push(assetId)
  }
}

async function createAsset(api: Api, { index, groupId }: { index: number; groupId: string }): Promise<string> {
  const asset = {
    functional_object_type: 'Device',
    name: `Drive ${index}`,
    access_group: groupId,
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `drive-${index}` }],
    connection_points: [{ connection_point_type: 'Ipv4Connectivity', ipv4_address: '127.0.0.1' }],
  }
  const { data } = await api.inventory.createAsset({ body: { data: { asset } } })
  const { data: status } = await api.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
  return (status.detail.result as { assetId: string }).assetId
}

/** Opens a session to a port of the device, and returns its id. */
async function openSession({ api, assets }: Plant, { asset, port }: { asset: number; port: number }): Promise<string> {
  const assetId = assets[asset] ?? ''
  const { data } = await api.remoteAccess.createSession({ body: { data: { assetId, service: 'tcp', port } } })
  return data.id
}

async function openStream({ url, token }: Api, session: string): Promise<WebSocket> {
  const path = `${remoteAccess.prefix}/sessions/${session}/stream?kind=tcp`
  const socket = new WebSocket(url.replace('http', 'ws') + path, tunnelProtocol, {
    headers: bearer(token),
    perMessageDeflate: false,
  })
  await once(socket, 'open')
  return socket
}

type Transfer = { rate: number; row: Row }

/** Transfers bytes in one direction for some seconds. */
async function transfer(plant: Plant, direction: 'source' | 'sink'): Promise<Transfer> {
  const { api, ports, platform, gatewayProcess } = plant
  const session = await openSession(plant, { asset: 0, port: ports[direction] })
  const socket = await openStream(api, session)
  let bytes = 0
  socket.on('message', (data) => {
    bytes += direction === 'source' ? (data as Buffer).length : (data as Buffer).length * 2 ** 20
  })
  const stopSending = direction === 'sink' ? sendAlways(socket) : () => {}
  await setTimeout(1_000)
  const cpuBefore = [
    await platform.request<number>({ kind: 'cpu' }),
    await gatewayProcess.request<number>({ kind: 'cpu' }),
  ]
  const [bytesBefore, startedAt] = [bytes, performance.now()]
  await setTimeout(transferMs)
  const seconds = (performance.now() - startedAt) / 1000
  const megabytes = (bytes - bytesBefore) / 1e6
  const cpu = [await platform.request<number>({ kind: 'cpu' }), await gatewayProcess.request<number>({ kind: 'cpu' })]
  const percent = cpu.map((micros, index) => (micros - (cpuBefore[index] ?? 0)) / seconds / 1e4)
  stopSending()
  socket.terminate()
  await api.remoteAccess.endSession({ params: { id: session } })
  const rate = megabytes / seconds
  const what = direction === 'source' ? 'bytes from the device' : 'bytes to the device'
  return { rate, row: { what, 'MB/s': rate, 'cloud CPU %': percent[0] ?? 0, 'gateway CPU %': percent[1] ?? 0 } }
}

const sentChunk = Buffer.alloc(64 * 1024, 'millwright ')
const waitingBytes = 1024 * 1024

/** Sends bytes as fast as the connection accepts them. */
function sendAlways(socket: WebSocket): () => void {
  let isStopped = false
  const send = () => {
    while (!isStopped && socket.readyState === WebSocket.OPEN && socket.bufferedAmount < waitingBytes)
      socket.send(sentChunk, send)
  }
  send()
  return () => {
    isStopped = true
  }
}

async function whileTransferring<Result>(plant: Plant, work: () => Promise<Result>): Promise<Result> {
  const session = await openSession(plant, { asset: 0, port: plant.ports.source })
  const socket = await openStream(plant.api, session)
  await setTimeout(500)
  try {
    return await work()
  } finally {
    socket.terminate()
    await plant.api.remoteAccess.endSession({ params: { id: session } })
  }
}

/** Measures the time from a byte to its echo, on a direct connection to the device. */
async function measureDirect(port: number): Promise<Round> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  await once(socket, 'connect')
  const round = await measureKeys(async () => {
    socket.write('k')
    await once(socket, 'data')
  })
  socket.destroy()
  return round
}

async function measureStream(api: Api, session: string): Promise<Round> {
  const socket = await openStream(api, session)
  const round = await measureKeys(() => echoOf(socket))
  socket.terminate()
  return round
}

let keys = 0

/** Sends one key and waits for its own echo. Each key differs from the previous one, so an earlier echo does not count. */
async function echoOf(socket: WebSocket): Promise<void> {
  const key = Buffer.of(keys++ % 256)
  socket.send(key)
  const [echo, isBinary] = (await once(socket, 'message')) as [Buffer, boolean]
  if (!isBinary || !echo.equals(key)) throw new Error(`The device returned ${echo.toString('hex')} for a key`)
}

async function measureKeys(key: () => Promise<void>): Promise<Round> {
  const latencies: number[] = []
  const cpuBefore = cpuMicros()
  const startedAt = performance.now()
  for (let index = 0; index < keystrokes; index++) {
    const sentAt = performance.now()
    await key()
    latencies.push(performance.now() - sentAt)
  }
  return roundOf(latencies, { ms: performance.now() - startedAt, cpu: cpuMicros() - cpuBefore })
}

function keyRow(what: string, { p50Ms, p99Ms }: Round): Row {
  return { what, 'median ms': p50Ms, '99 % ms': p99Ms }
}

/** Opens the sessions of one gateway with a stream each, and sends keys on all of them at the same time. */
async function manySessions(plant: Plant): Promise<{ rows: Row[]; round: Round; sessions: WebSocket[] }> {
  const sockets: WebSocket[] = []
  const startedAt = performance.now()
  // One session of the gateway is already open.
  await openMany(plant, { asset: 0, count: sessionsOfGateway - 1, sockets })
  const openMs = (performance.now() - startedAt) / sockets.length
  const latencies: number[] = []
  const cpuBefore = cpuMicros()
  const measuredAt = performance.now()
  await Promise.all(
    sockets.map(async (socket) => {
      for (let index = 0; index < keystrokes / 20; index++) {
        const sentAt = performance.now()
        await echoOf(socket)
        latencies.push(performance.now() - sentAt)
        await setTimeout(50)
      }
    }),
  )
  const round = roundOf(latencies, { ms: performance.now() - measuredAt, cpu: cpuMicros() - cpuBefore })
  return {
    rows: [
      { what: `open ${sockets.length} sessions of one gateway`, 'ms each': openMs },
      keyRow(`key, on ${sockets.length} sessions, 20 times a second each`, round),
    ],
    round,
    sessions: sockets,
  }
}

async function openMany(
  plant: Plant,
  { asset, count, sockets }: { asset: number; count: number; sockets: WebSocket[] },
): Promise<void> {
  let begun = 0
  const openSome = async () => {
    while (begun < count) {
      begun += 1
      sockets.push(await openStream(plant.api, await openSession(plant, { asset, port: plant.ports.echo })))
    }
  }
  await Promise.all(Array.from({ length: openedAtOnce }, openSome))
}

/** Opens sessions up to the limit of the tenant, and measures the processor time of the platform while they are idle. */
async function idleCost(plant: Plant, sockets: WebSocket[]): Promise<{ rows: Row[]; cpuPercent: number }> {
  const { platform } = plant
  const before = await platform.request<number>({ kind: 'memory' })
  for (let asset = 1; asset < gateways; asset++) await openMany(plant, { asset, count: sessionsOfGateway, sockets })
  const cpuBefore = await platform.request<number>({ kind: 'cpu' })
  const startedAt = performance.now()
  await setTimeout(idleMs)
  const cpu = (await platform.request<number>({ kind: 'cpu' })) - cpuBefore
  const cpuPercent = cpu / (performance.now() - startedAt) / 10
  const after = await platform.request<number>({ kind: 'memory' })
  const latency = await measureKeys(() => echoOf(sockets[0] as WebSocket))
  for (const socket of sockets) socket.terminate()
  return {
    rows: [
      {
        what: `${sockets.length + 1} idle sessions, each with a stream`,
        'cloud CPU %': cpuPercent,
        'cloud MiB': after,
        'MiB more': after - before,
      },
      keyRow('key, with these idle sessions', latency),
    ],
    cpuPercent,
  }
}
