import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import { discovery } from '@millwright/api/discovery.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { monitoring } from '@millwright/api/monitoring.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import type { Access } from '@millwright/cloud/first-run.ts'
import { cpuMicrosOf, databaseCpuMicros } from './cpu-time.ts'
import { ownEnvironment, tokenFor } from './platform-process.ts'
import { stop } from './worker-process.ts'

/** `ShopFloor` runs a platform, a gateway and a simulated plant, each in a separate process. */
export type ShopFloor = {
  url: string
  access: Access
  caller: Caller
  gatewayId: string
  assetLinkId: string
  /** Returns the processor time that each part has used so far. */
  cpu(): Record<Part, number>
  /** Returns the memory of a part in mebibytes: `now` is the current memory and `peak` is the maximum. */
  memory(of: Exclude<Part, 'database'>): { now: number; peak: number }
} & AsyncDisposable

export type Part = 'cloud' | 'database' | 'gateway' | 'link'
export type Caller = {
  onboarding: Client<typeof onboarding>
  discovery: Client<typeof discovery>
  inventory: Client<typeof inventory>
  monitoring: Client<typeof monitoring>
}

type Options = { home: string; profile?: string | undefined; environment?: Record<string, string> }

const pollMs = 20

export async function startShopFloor({ home, profile, environment = {} }: Options): Promise<ShopFloor> {
  await using started = new AsyncDisposableStack()
  const start = async (name: Exclude<Part, 'database'>, file: string, args: readonly string[]) => {
    const env = {
      ...ownEnvironment(home),
      MILLWRIGHT_LOCAL_GATEWAY: 'off',
      MILLWRIGHT_GATEWAY_LOG_LEVEL: 'warn',
      ...environment,
    }
    const program = spawnProgram({ file, args, env, profile: profile === undefined ? undefined : join(profile, name) })
    started.defer(() => stop(program.child))
    return program
  }
  const cloud = await start('cloud', 'main.mjs', [])
  await cloud.waitForOutput(/Ctrl-C stops it/)
  const access = JSON.parse(await readFile(join(home, 'first-run.json'), 'utf8')) as Access
  const token = await tokenFor({ url: access.baseUrl, access })
  const transport = overHttp({ baseUrl: access.baseUrl, token: () => token })
  const caller: Caller = {
    onboarding: client(onboarding, transport),
    discovery: client(discovery, transport),
    inventory: client(inventory, transport),
    monitoring: client(monitoring, transport),
  }
  const { data: made } = await caller.onboarding.createGateway({ body: { data: { name: 'Bench' } } })
  const config = join(home, 'gateway-config.json')
  await writeFile(config, JSON.stringify(await caller.onboarding.createGatewayConfig({ params: { id: made.id } })))
  const gatewayHome = join(home, 'gateway')
  const anyPort = ['--registry-port', '0', '--proxy-port', '0']
  const command = 'cli/millwright.mjs'
  const gateway = await start('gateway', command, ['gateway', '--config', config, '--home', gatewayHome, ...anyPort])
  const [, registryPort] = await gateway.waitForOutput(/Registry\s+port (\d+)/)
  const link = await start('link', command, [
    'link',
    'run',
    'plant',
    '--log-level',
    'warn',
    '--registry',
    `127.0.0.1:${registryPort}`,
  ])
  const assetLinkId = await reachableLink(caller, made.id)
  const running = started.move()
  const children = { cloud: cloud.child, gateway: gateway.child, link: link.child }
  return {
    url: access.baseUrl,
    access,
    caller,
    gatewayId: made.id,
    assetLinkId,
    cpu: () => ({
      cloud: cpuMicrosOf(pidOf(cloud.child)),
      database: databaseCpuMicros(home),
      gateway: cpuMicrosOf(pidOf(gateway.child)),
      link: cpuMicrosOf(pidOf(link.child)),
    }),
    memory: (part) => memoryOf(pidOf(children[part])),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

type SpawnOptions = { file: string; args: readonly string[]; env: NodeJS.ProcessEnv; profile: string | undefined }

/** Starts a program of the product. The result has a function that waits for output of the program. */
export function spawnProgram({ file, args, env, profile }: SpawnOptions) {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url))
  const measured = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const child = spawn(process.execPath, [...measured, path, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  return {
    child,
    async waitForOutput(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        const found = pattern.exec(printed)
        if (found !== null) return found
        if (child.exitCode !== null) throw new Error(`${file} ${args.join(' ')} ended: ${printed}`)
        await setTimeout(pollMs)
      }
    },
  }
}

async function reachableLink(caller: Caller, gatewayId: string): Promise<string> {
  for (;;) {
    const { data: links } = await caller.discovery.listAssetLinks({ params: { gatewayId } })
    const link = links.find(({ reachable }) => reachable)
    if (link !== undefined) return link.assetLinkId
    await setTimeout(pollMs)
  }
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new TypeError('The program did not start')
  return pid
}

export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mebibytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024
  return { now: mebibytes('VmRSS'), peak: mebibytes('VmHWM') }
}
