import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { client, overHttp } from '@millwright/api/client.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { Clock } from '@millwright/gateway/clock.ts'
import { CloudConnection } from '@millwright/gateway/cloud-connection.ts'
import { enrolledIdentity } from '@millwright/gateway/identity/enrolment.ts'
import { ownKey } from '@millwright/gateway/identity/key.ts'
import { TokenSource } from '@millwright/gateway/identity/token.ts'
import { createLog } from '@millwright/gateway/log.ts'
import { PlatformConnector } from '@millwright/gateway/platform/platform-connector.ts'
import { fetchOver } from '@millwright/gateway/platform/platform-fetch.ts'
import { median } from './measurement.ts'
import { type PlatformProcess, type ProcessLoad, startPlatform, tokenFor, withHome } from './platform-process.ts'
import type { Report, Row } from './report.ts'

const gatewayCount = 1_000
const enrolledAtOnce = 16
/** The wait of a poll is short, so that every gateway polls several times during the measurement. */
const waitSeconds = 10
const jobs = 20
/** A workflow whose jobs a user can create. */
const workflow = 'bench.update'
const goals = { pickUpMs: 1_000, growthMebibytes: 50 } as const

/** `WaitingGateway` is a simulated gateway that only polls for work, over its own connection. */
export type WaitingGateway = { id: string; polls: number; taken: Map<string, number>; stop(): Promise<void> }

/** Measures one thousand waiting gateways: their cost for the platform, and the time until a gateway picks up a job. */
export async function gateways(): Promise<Report> {
  return withHome(async (home) => {
    const platform = await startPlatform({ home })
    const waiting: WaitingGateway[] = []
    try {
      const rows: Row[] = []
      const note = async (moment: string) => {
        const { megabytes } = await platform.request<ProcessLoad>({ kind: 'load' })
        rows.push({ moment, 'cloud MiB': megabytes, waiting: waiting.length })
        return megabytes
      }
      await note('before the first gateway')
      await startGateways(platform, { home, count: gatewayCount, waitSeconds }, waiting)
      await until(() => waiting.every(({ polls }) => polls > 0))
      const first = await note('all wait')
      const pickUps = await offerJobs(platform, waiting)
      await until(() => waiting.every(({ polls }) => polls > 3))
      const last = await note('after three more polls each')
      const slowest = Math.max(...pickUps)
      return {
        title: `gateways: ${gatewayCount} wait for work, each over a separate connection`,
        rows: [
          ...rows,
          { moment: `${jobs} jobs, each for one of them`, 'median ms': median(pickUps), 'slowest ms': slowest },
        ],
        goals: [
          {
            goal: `a job is picked up within ${goals.pickUpMs} ms`,
            found: `${Math.round(slowest)} ms`,
            reached: slowest < goals.pickUpMs,
          },
          {
            goal: 'the memory does not grow while gateways wait',
            found: `${Math.round(last - first)} MiB more`,
            reached: last - first < goals.growthMebibytes,
          },
        ],
      }
    } finally {
      await Promise.all(waiting.map((one) => one.stop()))
      await platform.stop()
    }
  })
}

type GatewayOptions = {
  /** The folder for the homes of the gateways. */
  home: string
  count: number
  /** The time that the platform may wait before it answers a poll. */
  waitSeconds: number
  /** The number of polls that a gateway sends at the same time. */
  polls?: number
}

/** Enrols gateways and starts their polls. Adds each gateway to `waiting`, so that the caller can stop it after an error. */
export async function startGateways(
  platform: PlatformProcess,
  { home, count, ...polling }: GatewayOptions,
  waiting: WaitingGateway[],
): Promise<void> {
  const caller = client(onboarding, overHttp({ baseUrl: platform.url, token: await tokenSource(platform) }))
  let begun = waiting.length
  const last = begun + count
  const enrolSome = async () => {
    while (begun < last) {
      const folder = join(home, `gateway-${begun++}`)
      await mkdir(folder)
      const { data } = await caller.createGateway({ body: { data: { name: `Gateway ${begun}` } } })
      const config = await caller.createGatewayConfig({ params: { id: data.id } })
      await writeFile(join(folder, 'gateway-config.json'), JSON.stringify(config))
      waiting.push(await startWaiting(folder, polling))
    }
  }
  await Promise.all(Array.from({ length: enrolledAtOnce }, enrolSome))
}

async function tokenSource(platform: PlatformProcess): Promise<() => string> {
  const token = await tokenFor(platform)
  return () => token
}

async function startWaiting(
  home: string,
  { waitSeconds, polls = 1 }: Pick<GatewayOptions, 'waitSeconds' | 'polls'>,
): Promise<WaitingGateway> {
  const clock = new Clock()
  const key = await ownKey(join(home, 'gateway-key.pem'))
  const identity = await enrolledIdentity({ home, configFile: join(home, 'gateway-config.json'), key, clock })
  const platform = new PlatformConnector(identity)
  const { dispatcher } = platform
  const fetch = fetchOver(dispatcher)
  const tokens = new TokenSource({ identity, key, clock, log: createLog({ level: 'silent' }), fetch })
  const outgoing = new CloudConnection({ baseUrl: identity.baseUrl, key, clock, tokens, dispatcher })
  const one: WaitingGateway = {
    id: identity.gatewayId,
    polls: 0,
    taken: new Map(),
    async stop() {
      outgoing.close()
      await platform.close()
    },
  }
  for (let poll = 0; poll < polls; poll++) void wait(one, outgoing, waitSeconds)
  return one
}

async function wait(one: WaitingGateway, { gatekeeper }: CloudConnection, waitSeconds: number): Promise<void> {
  try {
    for (;;) {
      one.polls += 1
      const taken = await gatekeeper.leaseJob({ body: { data: { workflows: [workflow], waitSeconds } } })
      if (taken !== undefined) one.taken.set(taken.data.job.id, performance.now())
    }
  } catch {
    // The poll fails when the benchmark closes the connection. This error is expected.
  }
}

/** Returns the time from the request for a job until its gateway has it, in milliseconds. */
async function offerJobs(platform: PlatformProcess, waiting: readonly WaitingGateway[]): Promise<number[]> {
  const engine = client(workflows, overHttp({ baseUrl: platform.url, token: await tokenSource(platform) }))
  const states = [{ name: 'CREATED' }, { name: 'RUNNING' }, { name: 'FINISHED' }]
  const transitions = [
    { from: 'CREATED', to: 'RUNNING', eligible: 'CLIENT' as const },
    { from: 'RUNNING', to: 'FINISHED', eligible: 'CLIENT' as const },
  ]
  await engine.createWorkflow({ body: { name: workflow, states, transitions } })
  const pickUps: number[] = []
  for (let number = 0; number < jobs; number++) {
    const one = waiting[Math.floor((number * waiting.length) / jobs)]
    if (one === undefined) continue
    const requestedAt = performance.now()
    const { id } = await engine.createJob({ body: { clientId: one.id, workflow, definition: {} } })
    await until(() => one.taken.has(id))
    pickUps.push((one.taken.get(id) ?? 0) - requestedAt)
  }
  return pickUps
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setTimeout(5)
}
