import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Access } from '@millwright/cloud/first-run.ts'
import type { PlantSize } from '@millwright/cloud/services/inventory/plant.ts'
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
  | { kind: 'serve statements'; statements: Sent[] }
  | { kind: 'replay what was written' }
  | { kind: 'explain'; statement: Sent }
  | { kind: 'load' }

/** What a process holds and has used so far. */
export type ProcessLoad = { megabytes: number; databaseCpuMicros: number }

/** What the process under test does when it is told. */
export type Question =
  | InventoryQuestion
  | { kind: 'cpu' }
  | { kind: 'make groups'; count: number }
  | (QueryQuestion & Calls)
  | { kind: 'serve without the platform'; groupId: string }

export type Asked = { id: number; question: Question }

type Message = { ready: { url: string; access: Access } } | { id: number; answer: unknown }

export type PlatformProcess = {
  url: string
  access: Access
  ask<Answer>(question: Question): Promise<Answer>
  stop(): Promise<void>
}

type Options = { home: string; environment?: Record<string, string>; nodeOptions?: string[] }

/** A platform in a process of its own, on a home of its own, that answers questions about itself. */
export async function startPlatform({ home, environment = {}, nodeOptions = [] }: Options): Promise<PlatformProcess> {
  const child = fork(fileURLToPath(new URL('./under-test.ts', import.meta.url)), {
    env: { ...ownEnvironment(home), ...environment },
    execArgv: nodeOptions,
  })
  const waiting = new Map<number, (answer: unknown) => void>()
  const ready = Promise.withResolvers<{ url: string; access: Access }>()
  child.on('message', (message: Message) => {
    if ('ready' in message) ready.resolve(message.ready)
    else waiting.get(message.id)?.(message.answer)
  })
  child.once('exit', (code) => ready.reject(new Error(`The platform ended with ${code} before it was ready`)))
  const { url, access } = await ready.promise
  let asked = 0
  return {
    url,
    access,
    ask: <Answer>(question: Question) =>
      new Promise<Answer>((resolve, reject) => {
        const id = asked++
        waiting.set(id, (answer) => {
          waiting.delete(id)
          if (isFailure(answer)) reject(new Error(answer.error))
          else resolve(answer as Answer)
        })
        child.send({ id, question } satisfies Asked)
      }),
    stop: () => stop(child),
  }
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

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

function isFailure(answer: unknown): answer is { error: string } {
  return typeof answer === 'object' && answer !== null && 'error' in answer
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
