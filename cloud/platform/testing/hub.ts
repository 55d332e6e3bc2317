import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type AnyInput,
  type Client,
  client,
  type Exchange,
  requestFor,
  type Transport,
} from '@millwright/api/client.ts'
import type { Contract } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import type { BuiltInRoleName } from '@millwright/api/permission.ts'
import { validate as isUuid } from 'uuid'
import { type Cloud, type CloudOptions, openCloud } from '../../cloud.ts'
import { claimsFor, signToken } from '../../services/identity/oauth/access-token.ts'
import { KeyRing } from '../../services/identity/signing-keys/signing-keys.ts'
import { services } from '../../services/services.ts'
import { changeAccess, insertGrant, insertPrincipal } from '../access/store.ts'
import { openClient } from '../database/connection.ts'
import { Database } from '../database/database.ts'
import { createLog } from '../log.ts'
import type { Context } from '../service.ts'
import { pendingKindsStart } from '../tasks/store.ts'
import { createTenant } from '../tenants/tenants.ts'
import { secretIn } from './secrets-shown.ts'
import { atEndOfTests, keysFor, type TestDatabase, testDatabase } from './server.ts'
import { planFaults } from './statement-plans.ts'
import { faultOf, tenantTables } from './statements.ts'

export type Arrangement = 'one process' | 'split'

export type TestTenant = { tenantId: string; name: string }

type Overrides = Partial<
  Pick<
    CloudOptions,
    | 'baseUrl'
    | 'rateLimit'
    | 'tokenLifetimeSeconds'
    | 'corsOrigins'
    | 'metricsToken'
    | 'metricsFromLoopback'
    | 'trustedProxies'
    | 'remoteAccessHost'
    | 'artefacts'
    | 'packageFolder'
    | 'channelSuffix'
    | 'outboundAllow'
    | 'baseUrl'
    | 'tls'
    | 'peerAuthority'
    | 'tracing'
    | 'home'
    | 'slowRequestMs'
    | 'slowStatementMs'
  >
> & {
  arrangement?: Arrangement
  /** The path of a file with the master key, for tests that change the key. */
  masterKeyFile?: string
  /** True for a test that needs a separate database, because it uses more than its own tenant. */
  own?: boolean
  /** True for a test that stops the processes of its hub, or depends on their caches and logs. */
  ownProcesses?: boolean
}

/** `Processes` are the processes of an installation. All of them run in the process of the test. */
type Processes = {
  clouds: Cloud[]
  pools: Database[]
  protocol: 'http' | 'https'
  /** The end of the names of the notification channels. Processes of other hubs use other channels. */
  channelSuffix: string
  /** The lines of the logs. */
  printed: string[]
  /** The statements that do not name their tenant. */
  faults: string[]
  /** The port of the front. */
  port?: Promise<number>
  /** The number of hubs that use the processes at the moment. */
  hubs: number
}

export type RawRequest = {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string | Blob | Uint8Array | ReadableStream<Uint8Array>
  from?: string
}
/** A platform that receives requests: a test hub, or a platform that listens on a port. */
export type RequestTarget = {
  request(request: RawRequest): Promise<RawAnswer>
  context: { settings: { baseUrl: string } }
}

export type RawAnswer = { status: number; headers: Headers; text: string; bytes: Buffer; body: unknown }

export type TestCaller = {
  [Name in keyof typeof contracts]: Client<(typeof contracts)[Name]>
} & {
  principalId: string
  token: string
  exchange(contract: Contract, operation: string, input: AnyInput): Promise<Exchange>
}

const baseUrl = 'http://millwright.test'

/**
 * Returns whether this test file uses one process or splits the services over several. The value is read for each file,
 * because several files run in one process.
 */
function arrangementOfRun(): Arrangement {
  return process.env.MILLWRIGHT_TEST_ARRANGEMENT === 'split' ? 'split' : 'one process'
}

/**
 * Creates a complete hub with its own tenant. It has real services and real PostgreSQL. Requests go through the front,
 * without sockets. The hub also checks general rules in every test: responses match their contracts, statements name
 * their tenant, no secret is printed, no connection leaks.
 *
 * Hubs with the default settings share their processes, because opening processes takes longer than most tests. A hub with
 * settings that background tasks use has its own database: the shared processes would otherwise run some of its tasks, for
 * example send its events, with other settings.
 */
export async function testHub({ own = false, ownProcesses = false, ...overrides }: Overrides = {}): Promise<TestHub> {
  const database = await testDatabase({
    own: own || overrides.outboundAllow !== undefined || overrides.artefacts !== undefined,
  })
  const tenant = await freshTenant(database, own && !database.shared ? 'default' : randomName())
  const isDefault = Object.values(overrides).every((value) => value === undefined)
  if (own || ownProcesses || !isDefault) return TestHub.open(database, tenant, overrides)
  return TestHub.shareProcesses(database, tenant)
}

let shared: { arrangement: Arrangement; processes: Promise<Processes> } | undefined

/** The number of hubs that this process has created. */
let createdHubs = 0

/** Returns the processes that hubs with the default settings share. */
async function sharedProcesses(database: TestDatabase): Promise<Processes> {
  const arrangement = arrangementOfRun()
  if (shared?.arrangement !== arrangement) {
    await closeShared()
    shared = { arrangement, processes: openProcesses(database, { arrangement }) }
  }
  return shared.processes
}

async function closeShared(): Promise<void> {
  const former = shared
  shared = undefined
  if (former !== undefined) await closeProcesses(await former.processes)
}

atEndOfTests(closeShared)

async function closeProcesses({ clouds }: Processes): Promise<void> {
  for (const cloud of clouds.toReversed()) await cloud.close()
}

async function freshTenant({ withOwner }: TestDatabase, name: string): Promise<TestTenant> {
  const { id } = await withOwner((owner) => createTenant(owner, { name }))
  return { tenantId: id, name }
}

function randomName(): string {
  return `t${randomBytes(8).toString('hex')}`
}

export class TestHub {
  readonly database: TestDatabase
  readonly tenant: TestTenant
  readonly clouds: Cloud[]
  readonly #front: Cloud
  readonly #processes: Processes
  readonly #isSharing: boolean
  /** The number of log lines and faults before this hub was created. */
  readonly #before: { printed: number; faults: number }
  readonly #keys: KeyRing
  /** The names of all tenants that this hub has created. */
  readonly #tenants: string[]
  /**
   * The address from which requests come by default. Each hub has another one, because failed sign-ins of one address are
   * counted for all hubs that share the processes.
   */
  readonly #address: string

  private constructor(parts: {
    database: TestDatabase
    tenant: TestTenant
    processes: Processes
    isSharing: boolean
  }) {
    const front = parts.processes.clouds.at(-1)
    if (front === undefined) throw new TypeError('A hub has at least one process')
    this.database = parts.database
    this.tenant = parts.tenant
    this.clouds = parts.processes.clouds
    this.#front = front
    this.#processes = parts.processes
    this.#isSharing = parts.isSharing
    // Log lines of finished tests are no longer needed.
    if (parts.processes.hubs === 0) parts.processes.printed.length = 0
    parts.processes.hubs += 1
    this.#before = { printed: parts.processes.printed.length, faults: parts.processes.faults.length }
    this.#tenants = [parts.tenant.name]
    createdHubs += 1
    this.#address = `127.1.${createdHubs >> 8}.${createdHubs & 255}`
    this.#keys = new KeyRing({ database: front.context.database, secrets: front.context.secrets })
  }

  static async open(database: TestDatabase, tenant: TestTenant, overrides: Overrides): Promise<TestHub> {
    const processes = await openProcesses(database, overrides)
    return new TestHub({ database, tenant, processes, isSharing: false })
  }

  static async shareProcesses(database: TestDatabase, tenant: TestTenant): Promise<TestHub> {
    return new TestHub({ database, tenant, processes: await sharedProcesses(database), isSharing: true })
  }

  get context(): Context {
    return this.#front.context
  }

  /** Starts the front on a socket, and returns its address. */
  async listen(): Promise<string> {
    this.#processes.port ??= this.#front.listen({ host: '127.0.0.1', port: 0 })
    return `${this.#processes.protocol}://127.0.0.1:${await this.#processes.port}`
  }

  /** Returns the context of the process in which a service runs. */
  contextOf(service: keyof typeof contracts): Context {
    const index = services.findIndex(({ contract }) => contract.name === service)
    return (this.clouds.length === 1 ? this.#front : (this.clouds[index % splitProcesses] ?? this.#front)).context
  }

  /** Opens another hub on the same database. It acts as a second process of the same installation. */
  async sibling(overrides: Omit<Overrides, 'own'> = {}): Promise<TestHub> {
    const { channelSuffix } = this.#processes
    return TestHub.open({ ...this.database, leave: async () => {} }, this.tenant, { channelSuffix, ...overrides })
  }

  /** Creates another tenant of the same installation. */
  async anotherTenant(name = randomName()): Promise<TestTenant> {
    const tenant = await freshTenant(this.database, name)
    this.#tenants.push(name)
    return tenant
  }

  /** Runs work as the owner of the database. */
  async asOwner<Result>(work: (owner: Awaited<ReturnType<typeof openClient>>) => Promise<Result>): Promise<Result> {
    const owner = await openClient(this.database.owner)
    try {
      return await work(owner)
    } finally {
      await owner.end()
    }
  }

  /**
   * Creates a caller with a role in the whole tenant or in one access group. The role is a built-in role or a role of
   * the tenant, by name.
   */
  async as(
    role: BuiltInRoleName | (string & {}) | undefined,
    where: { accessGroupId?: string; tenant?: TestTenant } = {},
  ): Promise<TestCaller> {
    const tenant = where.tenant ?? this.tenant
    const name = `${role ?? 'nobody'}-${randomBytes(4).toString('hex')}`
    const principal = await this.context.database.transaction(tenant, async (tx) => {
      await changeAccess(tx)
      const made = await insertPrincipal(tx, { kind: 'user', name })
      if (role !== undefined) {
        const { accessGroupId } = where
        await insertGrant(tx, { principalId: made.id, role, ...(accessGroupId === undefined ? {} : { accessGroupId }) })
      }
      return made
    })
    const token = await this.tokenFor(principal.id, { roles: role === undefined ? [] : [role], tenant })
    return this.withToken(token, principal.id)
  }

  /** Creates a token with the claims that the identity service would set. */
  async tokenFor(
    principalId: string,
    { roles, tenant = this.tenant }: { roles: string[]; tenant?: TestTenant },
  ): Promise<string> {
    const now = new Date()
    const bearer = {
      tenant: { id: tenant.tenantId, name: tenant.name },
      principal: { id: principalId, kind: 'user' as const },
      clientId: 'console',
      roles,
      signIn: { authenticatedAt: now, methods: ['pwd'], endsAt: new Date(now.getTime() + 86_400_000) },
    }
    return signToken(claimsFor(bearer, this.context.settings, now), this.#keys)
  }

  get keys(): KeyRing {
    return this.#keys
  }

  withToken(token: string, principalId = ''): TestCaller {
    const transport: Transport = async (contract, name, input) => {
      const operation = contract.operations[name]
      if (operation === undefined) throw new TypeError(`${contract.name} has no operation ${name}`)
      const request = requestFor(contract, operation, input)
      const answer = await this.request({
        ...request,
        headers: { authorization: `Bearer ${token}`, ...request.headers },
      })
      return { status: answer.status, headers: answer.headers, body: answer.body }
    }
    const clients = Object.entries(contracts).map(([name, contract]) => [name, client(contract as Contract, transport)])
    return { ...Object.fromEntries(clients), principalId, token, exchange: transport } as TestCaller
  }

  async request({ method, path, headers = {}, body, from = this.#address }: RawRequest): Promise<RawAnswer> {
    const response = await this.#front.inject({
      method: method as 'GET',
      url: path,
      headers,
      ...(body === undefined ? {} : { payload: await sentBody(body) }),
      remoteAddress: from,
    })
    const text = response.payload
    const type = String(response.headers['content-type'] ?? '')
    const received = new Headers()
    for (const [name, values] of Object.entries(response.headers))
      for (const value of [values].flat()) received.append(name, String(value))
    if (type.includes('problem+json')) this.#refuseSecret('an error', text)
    return {
      status: response.statusCode,
      headers: received,
      text,
      bytes: response.rawPayload,
      body: /[/+]json/.test(type) && text !== '' ? JSON.parse(text) : text,
    }
  }

  /**
   * Returns the statements that the work sends. Background tasks of other tenants can send statements at the same time, so
   * these do not count. The check for pending tasks counts only if `withChecks` is set, because it can run at any time.
   */
  async statements(
    work: () => Promise<unknown>,
    { withChecks = false } = {},
  ): Promise<{ text: string; values: readonly unknown[] }[]> {
    const sent: { text: string; values: readonly unknown[] }[] = []
    const stops = this.#processes.pools.map((pool) =>
      pool.observe(({ text, values }) => {
        const isCounted = withChecks || !text.startsWith(pendingKindsStart)
        if (isCounted && !this.#isOfOtherTenant(text, values)) sent.push({ text, values })
      }),
    )
    try {
      await work()
    } finally {
      for (const stop of stops) stop()
    }
    return sent
  }

  /** Returns whether a statement is of another tenant. The tenant is the first parameter of a statement. */
  #isOfOtherTenant(text: string, [tenantId]: readonly unknown[]): boolean {
    return text.includes('tenant_id') && isUuid(tenantId) && tenantId !== this.tenant.tenantId
  }

  /** The end of the names of the channels on which the processes of this hub send each other notifications. */
  get channelSuffix(): string {
    return this.#processes.channelSuffix
  }

  /** The lines of the log. Each line is one JSON object. */
  get printed(): readonly string[] {
    return this.#processes.printed.slice(this.#before.printed)
  }

  /** Runs all due background tasks of this tenant until there are none. */
  async settle(tenantId = this.tenant.tenantId): Promise<void> {
    for (const cloud of this.clouds) await cloud.context.tasks.runDue(tenantId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isSharing) await closeProcesses(this.#processes)
    try {
      this.#refuseSecret('a log', this.printed.join(''))
      await this.#refuseSecretsInRows()
      const faults = this.#processes.faults.slice(this.#before.faults)
      if (faults.length > 0)
        throw new Error(`Statements that do not name their tenant:\n${[...new Set(faults)].join('\n')}`)
      await this.#refuseManyShards()
      await this.#refuseLeaks()
    } finally {
      this.#processes.hubs -= 1
      await this.database.leave(this.#tenants)
    }
  }

  /** Throws if a cluster cannot run a statement on one shard. */
  async #refuseManyShards(): Promise<void> {
    const texts = [...unplannedStatements]
    unplannedStatements.clear()
    const faults = texts.length === 0 ? [] : await planFaults(this.database.app, texts)
    if (faults.length > 0) throw new Error(`Statements that do not run on one shard:\n${faults.join('\n')}`)
  }

  /** Throws if database connections were not returned. The background tasks of shared processes can finish first. */
  async #refuseLeaks(): Promise<void> {
    const leaked = () => this.#processes.pools.reduce((sum, pool) => sum + pool.inUse, 0)
    const deadline = performance.now() + (this.#isSharing ? 60_000 : 0)
    while (leaked() > 0 && performance.now() < deadline) await delay(20)
    if (leaked() > 0) throw new Error(`${leaked()} database connections were not returned`)
  }

  #refuseSecret(where: string, text: string): void {
    const shown = secretIn(text)
    if (shown !== undefined) throw new Error(`A secret is visible in ${where}: …${shown}…`)
  }

  async #refuseSecretsInRows(): Promise<void> {
    const text = await this.database.withOwner(async (owner) => {
      const { rows } = await owner.query<{ text: string }>(
        `select coalesce(string_agg(t, E'\\n'), '') as text from (
           select data::text || subject as t from events where tenant_id = $1
           union all select detail::text || coalesce(target, '') from audit_entries where tenant_id = $1) as all_of_it`,
        [this.tenant.tenantId],
      )
      return rows[0]?.text ?? ''
    })
    this.#refuseSecret('an event or audit entry', text)
  }
}

export async function sentBody(body: NonNullable<RawRequest['body']>): Promise<string | Buffer<ArrayBuffer>> {
  if (typeof body === 'string') return body
  if (body instanceof ReadableStream) return Buffer.concat(await Array.fromAsync(body))
  return body instanceof Blob ? Buffer.from(await body.arrayBuffer()) : Buffer.from(body)
}

/** The statements that a cluster has not planned yet. */
const unplannedStatements = new Set<string>()

/** The statements without a fault. They are stored, because a test sends the same statement many times. */
const checkedStatements = new Set<string>()

const defaults = {
  baseUrl,
  remoteAccessHost: '*.localhost',
  tokenLifetimeSeconds: 3600,
  internalUrl: undefined,
  tls: undefined,
  peerAuthority: undefined,
  rateLimit: 1_000_000,
  outboundAllow: [],
  corsOrigins: [],
  trustedProxies: [],
  metricsToken: undefined,
  metricsFromLoopback: true,
  tracing: undefined,
  home: undefined,
  slowRequestMs: 1_000,
  slowStatementMs: 500,
  strict: true,
}

async function openProcesses(database: TestDatabase, overrides: Overrides): Promise<Processes> {
  const tables = await tenantTables()
  const arrangement = overrides.arrangement ?? arrangementOfRun()
  const protocol = overrides.tls === undefined ? 'http' : 'https'
  const channelSuffix = overrides.channelSuffix ?? `_${randomBytes(8).toString('hex')}`
  const processes: Processes = { protocol, channelSuffix, clouds: [], pools: [], printed: [], faults: [], hubs: 0 }
  const open = async (local: string[], remote: Map<string, string>) => {
    const pool = new Database({
      address: database.app,
      server: database.server,
      connections: 8,
      onStatement: ({ text }) => {
        if (checkedStatements.has(text)) return
        const fault = faultOf(text, tables)
        if (fault === undefined) {
          checkedStatements.add(text)
          if (database.server.citus) unplannedStatements.add(text)
        } else processes.faults.push(`${fault}: ${text}`)
      },
    })
    const log = createLog({ level: 'debug', to: { write: (line) => processes.printed.push(line) } })
    const cloud = await openCloud({
      ...defaults,
      artefacts: { folder: await artefactFolder(), s3: undefined },
      packageFolder: join(tmpdir(), 'millwright-no-package'),
      ...overrides,
      ...(await keysFor(database.owner, overrides.masterKeyFile)),
      database: pool,
      listenAt: database.app,
      channelSuffix,
      log,
      local,
      remote,
    })
    processes.pools.push(pool)
    processes.clouds.push(cloud)
    return cloud
  }
  if (arrangement === 'split') await openSplit(open, protocol)
  else await open([], new Map())
  return processes
}

let artefactFolderOfRun: Promise<string> | undefined

/** Returns the folder for the contents of artefacts. All hubs of a test process share it, because ids are unique. */
function artefactFolder(): Promise<string> {
  if (artefactFolderOfRun === undefined) {
    const made = mkdtemp(join(tmpdir(), 'millwright-artefacts-'))
    artefactFolderOfRun = made
    atEndOfTests(async () => {
      artefactFolderOfRun = undefined
      await rm(await made, { recursive: true, force: true })
    })
  }
  return artefactFolderOfRun
}

/** The number of processes that run the services. Consecutive services in the list are in different processes. */
const splitProcesses = 3

/**
 * Opens the services in several processes, and the front in one more process, so that every call crosses a process
 * boundary.
 */
async function openSplit(
  open: (local: string[], remote: Map<string, string>) => Promise<Cloud>,
  protocol: 'http' | 'https',
): Promise<void> {
  const urls = new Map<string, string>()
  for (let process = 0; process < splitProcesses; process++) {
    const names = services.filter((_, index) => index % splitProcesses === process).map(({ contract }) => contract.name)
    const cloud = await open(names, urls)
    const port = await cloud.listen({ host: '127.0.0.1', port: 0 })
    for (const name of names) urls.set(name, `${protocol}://127.0.0.1:${port}`)
  }
  await open([], urls)
}
