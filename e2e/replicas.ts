import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@millwright/api/port-testing.ts'
import type { Access } from '@millwright/cloud/first-run.ts'
import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import {
  type Connection,
  type EmbeddedPostgres,
  type PostgresOptions,
  startPostgres,
} from '@millwright/cloud/platform/postgres/postgres.ts'
import { quick } from '@millwright/cloud/platform/postgres/testing.ts'
import { type Caller, callerOf, readAccess, temporaryFolder, whenReady } from './platform.ts'
import { type Ended, millwright, npmStart, type Program, root } from './program.ts'
import { RoundRobinProxy } from './round-robin-proxy.ts'
import { killed } from './shop-floor.ts'
import { withinLimit } from './time-limit.ts'

/**
 * `Replica` is a process of the whole platform with its own home. `checkout` is the folder of its version. `program` is the
 * process that was started last.
 */
export type Replica = {
  readonly name: string
  readonly checkout: string
  readonly url: string
  readonly home: string
  program: Program
}

export type ReplicasOptions = {
  environment?: Record<string, string>
  /** The settings of the database server. By default it is fast, and its data does not survive a crash of the machine. */
  settings?: PostgresOptions['settings']
  /** The folder of the database server. By default it is a part of the folder of the processes. */
  database?: string
}

type Parts = {
  folder: ReturnType<typeof temporaryFolder>
  database: Required<Pick<PostgresOptions, 'home' | 'settings'>>
  postgres: EmbeddedPostgres
  proxy: RoundRobinProxy
  environment: Record<string, string>
}

/**
 * `Replicas` are processes of the whole platform with one database, behind a load balancer. A random loopback address that no
 * other program uses keeps the port of a killed process free.
 */
export class Replicas implements AsyncDisposable {
  readonly #parts: Parts
  readonly #host = `127.${1 + randomInt(250)}.${1 + randomInt(250)}.${1 + randomInt(250)}`
  readonly #all: Replica[] = []
  /** All processes that were started, also those that have ended. */
  readonly #programs: { name: string; program: Program }[] = []

  private constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Opens an empty database and a load balancer, without processes. */
  static async open({ environment = {}, settings = quick, ...options }: ReplicasOptions = {}): Promise<Replicas> {
    const folder = temporaryFolder('replicas')
    const database = { home: options.database ?? join(folder.path, 'database'), settings }
    const postgres = await startPostgres(database)
    const owner = await openClient(postgres.connection)
    await owner.query('create database plant').finally(() => owner.end())
    const proxy = await RoundRobinProxy.start()
    return new Replicas({
      folder,
      database,
      postgres,
      proxy,
      environment: {
        DATABASE_URL: `postgres://millwright@/plant?host=${encodeURIComponent(postgres.connection.host)}`,
        // Browsers allow passkeys for a host name only.
        MILLWRIGHT_BASE_URL: `http://localhost:${proxy.port}`,
        MILLWRIGHT_TRUSTED_PROXIES: '127.0.0.0/8',
        MILLWRIGHT_MASTER_KEY: randomBytes(32).toString('base64'),
        ...environment,
      },
    })
  }

  /** Opens an empty database, and starts processes of this version at the same time. */
  static async start({ count = 2, ...options }: ReplicasOptions & { count?: number } = {}): Promise<Replicas> {
    const replicas = await Replicas.open(options)
    try {
      await Promise.all(Array.from({ length: count }, (_, index) => replicas.add(`process-${index}`)))
      replicas.balance(replicas.#all)
    } catch (error) {
      await replicas[Symbol.asyncDispose]()
      throw error
    }
    return replicas
  }

  get baseUrl(): string {
    return this.#parts.environment.MILLWRIGHT_BASE_URL ?? ''
  }

  /** The port of the load balancer. */
  get port(): number {
    return this.#parts.proxy.port
  }

  get folder(): string {
    return this.#parts.folder.path
  }

  /** The home of the database server. */
  get databaseHome(): string {
    return this.#parts.database.home
  }

  /** The connection of the database owner. */
  get connection(): Connection {
    return { ...this.#parts.postgres.connection, database: 'plant' }
  }

  /** The process with this number, in the order of the first starts. */
  at(index: number): Replica {
    return this.#all[index] ?? assert.fail(`there is no process ${index}`)
  }

  /** The addresses of the processes, without the load balancer. */
  get urls(): readonly string[] {
    return this.#all.map(({ url }) => url)
  }

  /** The credentials of the first run, in the home of the process that created them. */
  get access(): Access {
    const home = this.#all.map((replica) => replica.home).find((path) => existsSync(join(path, 'first-run.json')))
    return readAccess(home ?? '')
  }

  /** Returns the clients of all services behind the load balancer, or of one process. */
  async caller(replica?: Replica, token?: string): Promise<Caller> {
    return callerOf({ baseUrl: replica?.url ?? this.baseUrl, access: this.access }, token)
  }

  /** Starts a process of the version in `checkout`. Throws if it refuses to start. */
  async add(name: string, checkout = root): Promise<Replica> {
    const home = join(this.folder, name)
    mkdirSync(home, { recursive: true })
    const url = `http://${this.#host}:${await freePort(this.#host)}`
    const replica = { name, checkout, home, url, program: this.#launch({ name, checkout, home, url }) }
    this.#all.push(replica)
    await whenReady(replica.program, home)
    return replica
  }

  /** Starts a process again that has ended. Returns when it is ready. */
  async restart(replica: Replica): Promise<void> {
    replica.program = this.#launch(replica)
    await whenReady(replica.program, replica.home)
  }

  /** Distributes new requests over these processes. */
  balance(replicas: readonly Replica[]): void {
    this.#parts.proxy.setTargets(replicas.map(({ url }) => url))
  }

  /** Kills a process with SIGKILL. */
  async kill({ program }: Replica): Promise<void> {
    await killed(program)
  }

  /** Stops a process with SIGTERM. It must finish its requests and exit without an error. */
  async stop({ name, program }: Replica): Promise<void> {
    program.child.kill('SIGTERM')
    const { code, stderr } = await withinLimit(`${name} stops after SIGTERM`, program.ended)
    assert.equal(code, 0, stderr)
  }

  /** Stops the database server in order. Its clients lose their connections. */
  async stopDatabase(): Promise<void> {
    await this.#parts.postgres.stop()
  }

  /** Starts the database server again after `stopDatabase`. */
  async startDatabase(): Promise<void> {
    this.#parts.postgres = await startPostgres(this.#parts.database)
  }

  /** Runs a command of the owner with the version in `checkout`. */
  run(args: readonly string[], checkout: string): Promise<Ended> {
    const { environment } = this.#parts
    return millwright(args, { home: join(this.folder, 'command'), checkout, environment }).ended
  }

  /** Returns the errors in the logs of all processes. */
  errors(): string[] {
    return this.#programs.flatMap(({ name, program }) =>
      program
        .stderr()
        .split('\n')
        .filter((line) => /"level":"(?:error|fatal)"/.test(line))
        .map((line) => `${name}: ${line}`),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#programs.map(({ program }) => program[Symbol.asyncDispose]()))
    const { proxy, postgres, folder } = this.#parts
    await proxy[Symbol.asyncDispose]()
    await postgres.stop()
    folder[Symbol.dispose]()
  }

  #launch({ name, checkout, home, url }: Omit<Replica, 'program'>): Program {
    const { hostname, port } = new URL(url)
    const environment = {
      ...this.#parts.environment,
      MILLWRIGHT_HOST: hostname,
      MILLWRIGHT_PORT: port,
      // An older release may not have this setting.
      ...(checkout === root ? { MILLWRIGHT_ARTEFACT_FOLDER: join(this.folder, 'artefacts') } : {}),
    }
    const program = npmStart({ home, checkout, environment })
    this.#programs.push({ name, program })
    return program
  }
}
