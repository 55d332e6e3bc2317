import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Access } from '@millwright/cloud/first-run.ts'
import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import { type EmbeddedPostgres, startPostgres } from '@millwright/cloud/platform/postgres/postgres.ts'
import { quick } from '@millwright/cloud/platform/postgres/testing.ts'
import { type Caller, callerOf, readAccess, temporaryFolder, whenReady } from './platform.ts'
import { npmStart, type Program } from './program.ts'
import { RoundRobinProxy } from './round-robin-proxy.ts'
import { withinLimit } from './time-limit.ts'

/**
 * `Replicas` are identical processes of the whole platform with one database, behind a load balancer. Each process has its own
 * home. A random loopback address that no other program uses keeps the port of a killed process free.
 */
export class Replicas implements AsyncDisposable {
  readonly baseUrl: string
  readonly folder: string
  /** The addresses of the processes, without the load balancer. */
  readonly urls: readonly string[]
  readonly #options: Started
  readonly #programs: (Program | undefined)[] = []

  private constructor(options: Started) {
    this.#options = options
    this.baseUrl = options.environment.MILLWRIGHT_BASE_URL ?? ''
    this.folder = options.folder.path
    this.urls = options.urls
  }

  /** Starts the processes at the same time, with an empty database. */
  static async start({ count = 2, environment = {} }: ReplicasOptions = {}): Promise<Replicas> {
    const folder = temporaryFolder('replicas')
    const postgres = await startPostgres({ home: join(folder.path, 'database'), settings: quick })
    const owner = await openClient(postgres.connection)
    await owner.query('create database plant').finally(() => owner.end())
    const proxy = await RoundRobinProxy.start()
    const host = `127.${1 + randomInt(250)}.${1 + randomInt(250)}.${1 + randomInt(250)}`
    const urls = (await freePorts(host, count)).map((port) => `http://${host}:${port}`)
    proxy.setTargets(urls)
    const replicas = new Replicas({
      folder,
      postgres,
      proxy,
      urls,
      environment: {
        DATABASE_URL: `postgres://millwright@/plant?host=${encodeURIComponent(postgres.connection.host)}`,
        // Browsers allow passkeys for a host name only.
        MILLWRIGHT_BASE_URL: `http://localhost:${proxy.port}`,
        MILLWRIGHT_HOST: host,
        MILLWRIGHT_TRUSTED_PROXIES: '127.0.0.0/8',
        MILLWRIGHT_MASTER_KEY: randomBytes(32).toString('base64'),
        MILLWRIGHT_ARTEFACT_FOLDER: join(folder.path, 'artefacts'),
        ...environment,
      },
    })
    try {
      await Promise.all(urls.map((_, index) => replicas.restart(index)))
    } catch (error) {
      await replicas[Symbol.asyncDispose]()
      throw error
    }
    return replicas
  }

  /** The credentials of the first run, in the home of the process that created them. */
  get access(): Access {
    const homes = this.urls.map((_, index) => this.#homeOf(index))
    return readAccess(homes.find((home) => existsSync(join(home, 'first-run.json'))) ?? '')
  }

  /** Returns the clients of all services behind the load balancer, or of one process. */
  async caller(index?: number, token?: string): Promise<Caller> {
    const baseUrl = index === undefined ? this.baseUrl : (this.urls[index] ?? '')
    return callerOf({ baseUrl, access: this.access }, token)
  }

  /** Starts a process, also again after it was killed. Returns when it is ready. */
  async restart(index: number): Promise<void> {
    const home = this.#homeOf(index)
    mkdirSync(home, { recursive: true })
    const { port } = new URL(this.urls[index] ?? '')
    const program = npmStart({ home, environment: { ...this.#options.environment, MILLWRIGHT_PORT: port } })
    this.#programs[index] = program
    await whenReady(program, home)
  }

  /** Kills a process with SIGKILL. */
  async kill(index: number): Promise<void> {
    const program = this.#programs[index]
    this.#programs[index] = undefined
    program?.child.kill('SIGKILL')
    if (program !== undefined) await withinLimit('the process ends after SIGKILL', program.ended)
  }

  /** Returns the log of all running processes. */
  log(): string {
    return this.#programs.map((program) => program?.stderr() ?? '').join('')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#programs.map((program) => program?.[Symbol.asyncDispose]()))
    const { proxy, postgres, folder } = this.#options
    await proxy[Symbol.asyncDispose]()
    await postgres.stop()
    folder[Symbol.dispose]()
  }

  #homeOf(index: number): string {
    return join(this.folder, `home-${index}`)
  }
}

export type ReplicasOptions = { count?: number; environment?: Record<string, string> }

type Started = {
  folder: { path: string } & Disposable
  postgres: EmbeddedPostgres
  proxy: RoundRobinProxy
  urls: string[]
  environment: Record<string, string>
}

async function freePorts(host: string, count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, host))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
