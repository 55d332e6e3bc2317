import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Access } from '@millwright/cloud/first-run.ts'
import type { PlantSize } from '@millwright/links/plant/generator.ts'
import { type AskedProcess, startAsked } from './asked-process.ts'
import type { Sent } from './raw.ts'

/** The query of one operation, without the operation. */
export type QueryQuestion =
  | { kind: 'query through the driver'; pipelined: boolean }
  | { kind: 'query through the database layer' }

type Calls = { callers: number; ms: number; groupId: string }

/** What the process under test does for the benchmark of the inventory. */
export type InventoryQuestion =
  | { kind: 'grow a plant'; size: PlantSize }
  | { kind: 'wait until everything is applied' }
  | { kind: 'begin to note statements' }
  | { kind: 'statements noted' }
  | { kind: 'places' }
  | { kind: 'explain'; statement: Sent }
  | { kind: 'load' }

/** What a process holds and has used so far. */
export type ProcessLoad = { megabytes: number; databaseCpuMicros: number }

/** What the process under test does when it is told. */
export type Question =
  | InventoryQuestion
  | { kind: 'cpu' }
  | { kind: 'make a second tenant' }
  | { kind: 'store an expensive schema'; url: string }
  | { kind: 'make groups'; count: number }
  | (QueryQuestion & Calls)
  | { kind: 'serve without the platform'; groupId: string }

export type PlatformProcess = AskedProcess<Question> & { url: string; access: Access }

type Options = { home: string; environment?: Record<string, string>; nodeOptions?: string[] }

/** A platform in a process of its own, on a home of its own, that answers questions about itself. */
export async function startPlatform({ home, environment = {}, nodeOptions = [] }: Options): Promise<PlatformProcess> {
  const { ready, ...platform } = await startAsked<Question, { url: string; access: Access }>('./under-test.ts', {
    env: { ...ownEnvironment(home), ...environment },
    execArgv: nodeOptions,
  })
  return { ...ready, ...platform }
}

/** Settings of this shell would measure another platform; the limit per principal would measure itself. */
export function ownEnvironment(home: string): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(MILLWRIGHT_|DATABASE_URL$|OTEL_|PG)/.test(name))
  return {
    ...Object.fromEntries(kept),
    MILLWRIGHT_HOME: home,
    MILLWRIGHT_PORT: '0',
    MILLWRIGHT_RATE_LIMIT: '1000000',
  }
}

/** A platform that is stopped afterwards. */
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

/** A home that is gone afterwards. */
export async function withHome<Result>(work: (home: string) => Promise<Result>): Promise<Result> {
  const home = await mkdtemp(join(tmpdir(), 'millwright-bench-'))
  try {
    return await work(home)
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** A token of the client that the first start made: an administrator. */
export async function tokenFor({ url, access }: Pick<PlatformProcess, 'url' | 'access'>): Promise<string> {
  const { clientId, clientSecret } = access
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body })
  if (!response.ok) throw new Error(`No token: ${await response.text()}`)
  return ((await response.json()) as { access_token: string }).access_token
}

export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}
