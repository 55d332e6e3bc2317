import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import { contracts } from '@millwright/api/contracts.ts'
import type { Access } from '@millwright/cloud/first-run.ts'
import { cpuMsOf, type Ended, npmStart, type Program, type ProgramOptions, postgresOf } from './program.ts'
import { withinLimit } from './time-limit.ts'

/**
 * The time limit of every wait in a test. It is long, because a failure on a slow, busy machine would prove nothing.
 */
const patienceMs = 600_000

const folders = new Set<string>()
// Deletes the folders when the process exits, because a skipped or aborted test does not run its own cleanup.
process.once('exit', () => folders.forEach(remove))

/** Creates a folder that is deleted at the end of the test. The database user has permission to traverse the folder. */
export function temporaryFolder(name = 'home'): { path: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), `millwright-e2e-${name}-`))
  chmodSync(folder, 0o711)
  folders.add(folder)
  return { path: folder, [Symbol.dispose]: () => remove(folder) }
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  folders.delete(folder)
}

/**
 * Waits until a condition is true. The time between two checks grows to a quarter of a second, because the checks of a
 * long wait would otherwise use much of the processor time of the machine.
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = patienceMs,
): Promise<void> {
  await withinLimit(what, poll(condition, performance.now() + limitMs), limitMs)
}

async function poll(condition: () => boolean | Promise<boolean>, deadline: number): Promise<void> {
  for (let pauseMs = 20; !(await condition()); pauseMs = Math.min(pauseMs * 1.2, 250)) {
    await delay(pauseMs)
    if (performance.now() > deadline) return
  }
}

/**
 * Waits until no process of the database server in this home is left. Its watcher process ends shortly after the
 * server.
 */
export function databaseEnded(home: string): Promise<void> {
  return until('no process of the database is left', () => postgresOf(home).length === 0)
}

export type Platform = {
  program: Program
  home: string
  baseUrl: string
  /**
   * The processor time that the platform used until it was ready. Other load of the machine does not affect this time.
   */
  startCpuMs: number
  /** The credentials that the home contains at this moment. */
  readonly access: Access
  /** Sends SIGTERM and waits until the process ends. */
  stop(): Promise<Ended>
} & AsyncDisposable

/**
 * Starts the platform and waits until it is ready. If the home is empty, it gets a copy of the home that the test run
 * has prepared, because a first start takes much longer than another start.
 */
export function startPlatform(options: ProgramOptions): Promise<Platform> {
  prepareHome(options.home)
  return startPlatformIn(options)
}

/** Fills an empty home with a copy of the home that the test run has prepared, if it has prepared one. */
export function prepareHome(home: string): void {
  const prepared = process.env.MILLWRIGHT_TEST_HOME ?? ''
  const isEmpty = !existsSync(home) || readdirSync(home).length === 0
  if (prepared !== '' && isEmpty) execFileSync('cp', ['-a', `${prepared}/.`, home])
}

/** Starts the platform in its home and waits until it is ready. An empty home means a first start. */
export async function startPlatformIn(options: ProgramOptions): Promise<Platform> {
  const program = npmStart(options)
  try {
    return await whenReady(program, options.home)
  } catch (error) {
    await program[Symbol.asyncDispose]()
    throw error
  }
}

export async function whenReady(program: Program, home: string): Promise<Platform> {
  let isOver = false
  program.child.once('close', () => {
    isOver = true
  })
  await until('the platform is ready', () => isOver || program.stdout().includes('Ctrl-C stops it.'))
  assert.ok(!isOver, `the platform ended: ${program.stderr()}`)
  const baseUrl = /Console +(http\S+)\//.exec(program.stdout())?.[1] ?? assert.fail('no address was printed')
  return {
    program,
    home,
    baseUrl,
    startCpuMs: cpuMsOf(program.child.pid ?? 0),
    get access() {
      return readAccess(home)
    },
    async stop() {
      program.child.kill('SIGTERM')
      return withinLimit('the platform stops after SIGTERM', program.ended, patienceMs)
    },
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  }
}

export function readAccess(home: string): Access {
  return JSON.parse(readFileSync(join(home, 'first-run.json'), 'utf8'))
}

type TokenAnswer = { access_token: string; token_type: string; expires_in: number }

/** Requests a token with the client credentials grant, as client programs do. */
export async function tokenOf(
  baseUrl: string,
  { clientId, clientSecret }: Pick<Access, 'clientId' | 'clientSecret'>,
): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  const response = await fetch(`${baseUrl}/oauth/token`, { method: 'POST', body })
  assert.equal(response.status, 200, 'the token endpoint refused')
  return ((await response.json()) as TokenAnswer).access_token
}

export type Caller = { [Name in keyof typeof contracts]: Client<(typeof contracts)[Name]> } & { token: string }

/**
 * Returns the typed clients of all services. They use `existingToken` or, by default, a token of the service account
 * that the first start of the platform creates.
 */
export async function callerOf(
  { baseUrl, access }: Pick<Platform, 'baseUrl' | 'access'>,
  existingToken?: string,
): Promise<Caller> {
  const token = existingToken ?? (await tokenOf(baseUrl, access))
  const transport = overHttp({ baseUrl, token: () => token })
  const clients = Object.entries(contracts).map(([name, contract]) => [name, client(contract, transport)])
  return { ...Object.fromEntries(clients), token }
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

/** `SignIn` is the result of a sign-in: a token, or the status and the text of the error page. */
export type SignIn = { token: string } | { status: number; page: string }

/** Signs a user in without a browser, with the same requests that a browser sends. */
export async function signIn(baseUrl: string, typed: { name: string; password: string }): Promise<SignIn> {
  const verifier = randomBytes(32).toString('base64url')
  const redirectUri = `${baseUrl}/auth/callback`
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'console',
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const url = `${baseUrl}/oauth/authorize?${query}`
  const form = await fetch(url)
  const cookie = form.headers.getSetCookie().map((line) => line.split(';')[0])
  const proof = /name="proof" value="([^"]+)"/.exec(await form.text())?.[1] ?? assert.fail('there is no form')
  const answer = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookie.join('; '), origin: baseUrl },
    body: new URLSearchParams({ ...typed, proof }),
  })
  if (answer.status !== 303) return { status: answer.status, page: await answer.text() }
  const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const exchange = {
    grant_type: 'authorization_code',
    client_id: 'console',
    redirect_uri: redirectUri,
    code,
    code_verifier: verifier,
  }
  const tokens = await fetch(`${baseUrl}/oauth/token`, { method: 'POST', body: new URLSearchParams(exchange) })
  return { token: ((await tokens.json()) as TokenAnswer).access_token }
}
