import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Access } from '@millwright/cloud/first-run.ts'
import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import { type EmbeddedPostgres, startPostgres } from '@millwright/cloud/platform/postgres/postgres.ts'
import { readAccess, temporaryFolder, whenReady } from './platform.ts'
import { type Ended, millwright, npmStart, type Program } from './program.ts'
import { RoundRobinProxy } from './round-robin-proxy.ts'
import { killed } from './shop-floor.ts'
import { withinLimit } from './time-limit.ts'

/** `Replica` is a process of the platform with its own home. `checkout` is the folder of its version. */
export type Replica = { name: string; checkout: string; url: string; home: string; program: Program }

type SiteParts = { folder: ReturnType<typeof temporaryFolder>; postgres: EmbeddedPostgres; proxy: RoundRobinProxy }

/** `UpgradeSite` is a database with processes of two versions behind a load balancer. */
export class UpgradeSite implements AsyncDisposable {
  readonly #folder: ReturnType<typeof temporaryFolder>
  readonly #postgres: EmbeddedPostgres
  readonly #proxy: RoundRobinProxy
  readonly #environment: Record<string, string>
  readonly #host = `127.${1 + randomInt(250)}.${1 + randomInt(250)}.${1 + randomInt(250)}`
  /** All processes that were started, also those that have ended. */
  readonly #started: Replica[] = []

  private constructor({ folder, postgres, proxy }: SiteParts) {
    this.#folder = folder
    this.#postgres = postgres
    this.#proxy = proxy
    this.#environment = {
      DATABASE_URL: `postgres://millwright@/plant?host=${encodeURIComponent(postgres.connection.host)}`,
      MILLWRIGHT_BASE_URL: `http://127.0.0.1:${proxy.port}`,
      MILLWRIGHT_HOST: this.#host,
      MILLWRIGHT_TRUSTED_PROXIES: '127.0.0.0/8',
      MILLWRIGHT_OUTBOUND_ALLOW: '127.0.0.1',
      MILLWRIGHT_MASTER_KEY: randomBytes(32).toString('base64'),
      MILLWRIGHT_LOG_LEVEL: 'warn',
    }
  }

  static async start(): Promise<UpgradeSite> {
    const folder = temporaryFolder('upgrade')
    const postgres = await startPostgres({ home: join(folder.path, 'database') })
    const owner = await openClient(postgres.connection)
    await owner.query('create database plant').finally(() => owner.end())
    return new UpgradeSite({ folder, postgres, proxy: await RoundRobinProxy.start() })
  }

  get baseUrl(): string {
    return this.#environment.MILLWRIGHT_BASE_URL ?? ''
  }

  get folder(): string {
    return this.#folder.path
  }

  /** The credentials that the first process has created. */
  get access(): Access {
    const home = this.#started.map((replica) => replica.home).find((path) => existsSync(join(path, 'first-run.json')))
    return readAccess(home ?? '')
  }

  /** Starts a process of the version in `checkout`. Throws if it refuses to start. */
  async start(name: string, checkout: string): Promise<Replica> {
    const home = join(this.folder, name)
    mkdirSync(home, { recursive: true })
    const port = String(await freePort(this.#host))
    const environment = { ...this.#environment, MILLWRIGHT_PORT: port }
    const program = npmStart({ home, checkout, environment })
    const replica = { name, checkout, home, program, url: `http://${this.#host}:${port}` }
    this.#started.push(replica)
    await whenReady(program, home)
    return replica
  }

  /** Distributes new requests over these processes. */
  balance(replicas: readonly Replica[]): void {
    this.#proxy.setTargets(replicas.map(({ url }) => url))
  }

  async kill({ program }: Replica): Promise<void> {
    await killed(program)
  }

  /** Stops a process with SIGTERM. It must finish its requests and exit without an error. */
  async stop({ name, program }: Replica): Promise<void> {
    program.child.kill('SIGTERM')
    const { code, stderr } = await withinLimit(`${name} stops after SIGTERM`, program.ended)
    assert.equal(code, 0, stderr)
  }

  /** Runs a command of the owner with the version in `checkout`. */
  run(args: readonly string[], checkout: string): Promise<Ended> {
    return millwright(args, { home: join(this.folder, 'command'), checkout, environment: this.#environment }).ended
  }

  /** Returns the errors in the logs of all processes. */
  errors(): string[] {
    return this.#started.flatMap(({ name, program }) =>
      program
        .stderr()
        .split('\n')
        .filter((line) => /"level":"(?:error|fatal)"/.test(line))
        .map((line) => `${name}: ${line}`),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#started.map(({ program }) => program[Symbol.asyncDispose]()))
    await this.#proxy[Symbol.asyncDispose]()
    await this.#postgres.stop()
    this.#folder[Symbol.dispose]()
  }
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}
