import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Access } from '@millwright/cloud/first-run.ts'
import type { PlantSize } from '@millwright/links/plant/generator.ts'
import type { RecordedStatement } from './statement-sender.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'

/** The commands that run the query of one operation without the platform. */
export type QueryCommand =
  | { kind: 'query through the driver'; pipelined: boolean }
  | { kind: 'query through the database layer' }

type Calls = { callers: number; ms: number; groupId: string }

/** The commands of the inventory benchmarks. */
export type InventoryCommand =
  | { kind: 'grow a plant'; size: PlantSize }
  | { kind: 'wait until everything is applied' }
  | { kind: 'vacuum' }
  | { kind: 'start recording statements' }
  | { kind: 'stop recording statements' }
  | { kind: 'database target' }
  | { kind: 'explain'; statement: RecordedStatement }
  | { kind: 'load' }
  | { kind: 'grow a hierarchy'; hierarchyId: string; nodes: number }

/**
 * `GrownHierarchy` contains ids of nodes and assets as samples. Each of the `sites` contains a tenth of all nodes, and
 * each of the `lines` contains a thousandth.
 */
export type GrownHierarchy = { root: string; sites: string[]; lines: string[]; cells: string[]; assets: string[] }

/** `ProcessLoad` contains the memory of the platform's process, and the CPU time that its database has used so far. */
export type ProcessLoad = { megabytes: number; databaseCpuMicros: number }

/** The commands that measure the costs of the capacity model. */
export type CapacityCommand =
  | { kind: 'create tenants'; count: number }
  | { kind: 'database volume' }
  | { kind: 'table sizes' }
  | { kind: 'compact'; table: string }
  | { kind: 'live bytes' }
  | { kind: 'task checks' }
  | { kind: 'poll for jobs' | 'poll for events'; tenants: string[]; ms: number }

/** The commands of the process under test. */
export type PlatformCommand =
  | InventoryCommand
  | { kind: 'cpu' }
  | { kind: 'memory' }
  | { kind: 'create a second tenant' }
  | { kind: 'grow tenants'; count: number; size: PlantSize }
  | { kind: 'wait for tasks'; of: string }
  | { kind: 'store an expensive schema'; url: string }
  | { kind: 'create groups'; count: number }
  | { kind: 'store an address'; assetId: string; gatewayId: string; address: string }
  | CapacityCommand
  | (QueryCommand & Calls)
  | { kind: 'serve without the platform'; groupId: string }

export type TenantCredentials = { clientId: string; clientSecret: string }

/** `GrownTenants` names the database server, and contains the credentials of an administrator of each tenant. */
export type GrownTenants = { server: string; credentials: TenantCredentials[] }

export type PlatformProcess = WorkerProcess<PlatformCommand> & { url: string; access: Access }

type Options = { home: string; environment?: Record<string, string>; nodeOptions?: string[] }

/** Starts a platform with this home in a separate process. The process executes the commands of the benchmark. */
export async function startPlatform({ home, environment = {}, nodeOptions = [] }: Options): Promise<PlatformProcess> {
  const { ready, ...platform } = await startWorkerProcess<PlatformCommand, { url: string; access: Access }>(
    './measured-platform.ts',
    {
      env: { ...ownEnvironment(home), ...environment },
      execArgv: nodeOptions,
    },
  )
  return { ...ready, ...platform }
}

/**
 * Returns the environment of a measured platform. The settings of this shell are removed, and the rate limit is raised
 * so that it does not affect the result.
 */
export function ownEnvironment(home: string): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(MILLWRIGHT_|DATABASE_URL$|OTEL_|PG)/.test(name))
  return {
    ...Object.fromEntries(kept),
    MILLWRIGHT_HOME: home,
    MILLWRIGHT_PORT: '0',
    MILLWRIGHT_RATE_LIMIT: '1000000',
  }
}

/** Runs `work` with a platform and stops the platform afterwards. */
export async function withPlatform<Result>(
  options: Options,
  work: (platform: PlatformProcess) => Promise<Result>,
): Promise<Result> {
  const platform = await startPlatform(options)
  try {
    return await work(platform)
  } finally {
    await platform.stop()
  }
}

/** Runs `work` with a temporary home and deletes the home afterwards. */
export async function withHome<Result>(work: (home: string) => Promise<Result>): Promise<Result> {
  const home = await mkdtemp(join(tmpdir(), 'millwright-bench-'))
  try {
    return await work(home)
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/**
 * Returns a token of the service account that the first start of the platform creates. This account is an
 * administrator.
 */
export async function tokenFor({ url, access }: Pick<PlatformProcess, 'url' | 'access'>): Promise<string> {
  const { clientId, clientSecret } = access
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body })
  if (!response.ok) throw new Error(`The token request failed: ${await response.text()}`)
  return ((await response.json()) as { access_token: string }).access_token
}

export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}
