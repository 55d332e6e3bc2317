import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Cloud, openCloud, originOf, requireFreeAddress, requireKnownServices } from './cloud.ts'
import { type FirstRun, firstRun } from './first-run.ts'
import { openMasterKeys } from './master-key-places.ts'
import { type Address, openClient } from './platform/database/connection.ts'
import { Database } from './platform/database/database.ts'
import { packageFolder } from './platform/downloads/gateway-package.ts'
import { createLog, type Log } from './platform/log.ts'
import { startPostgres } from './platform/postgres/postgres.ts'
import { StartError } from './platform/start-error.ts'
import { CertificateFiles } from './platform/tls/certificate-files.ts'
import { type HttpRedirect, startHttpRedirect } from './platform/tls/http-redirect.ts'
import { readAuthority } from './platform/tls/peer-connections.ts'
import { startTracing } from './platform/tracing.ts'
import { prepareDatabase } from './prepare.ts'
import { artefactSettings, type CloudConfiguration, readCloudConfiguration } from './settings.ts'

export type RunningCloud = {
  cloud: Cloud
  baseUrl: string
  /** The certificate of the platform. Undefined if it does not use TLS. */
  tls: CertificateFiles | undefined
  /** The authorities of MILLWRIGHT_TLS_AUTHORITY in PEM format. */
  tlsAuthority: string | undefined
  home: string
  /** The accounts that the first start created, and the file that contains them. */
  firstRun: FirstRun
  /**
   * True if the caller must start a local gateway. This requires that a local gateway is configured and that all
   * services run in this process.
   */
  hasLocalGateway: boolean
  /** Makes `/readyz` return 200. If there is a local gateway, the caller waits for its enrolment first. */
  setReady(): void
  /** Resolves with the reason when the platform can no longer run. */
  failed: Promise<string>
  stop(): Promise<void>
}

type Environment = Record<string, string | undefined>
type Progress = (step: string) => void
type StartOptions = {
  onProgress?: Progress
  /** True if the caller starts the local gateway when one is configured. */
  withGateway?: boolean
}

const embeddedDatabase = 'millwright'

/** Starts the platform from its configuration. */
export async function startCloud(
  environment: Environment,
  { onProgress = () => {}, withGateway = false }: StartOptions = {},
): Promise<RunningCloud> {
  const configuration = readCloudConfiguration(environment)
  const remote = peersOf(configuration.peers)
  // These errors are reported before the database starts, because its first start takes seconds.
  requireKnownServices({ local: configuration.services, remote })
  await requireFreeAddress(configuration)
  const log = createLog({ level: configuration.logLevel })
  const home = await createHome(configuration.home)
  const artefacts = artefactSettings(configuration, home)
  const peerAuthority = await readAuthority(configuration.tlsAuthority)
  const masterKeys = await openMasterKeys(configuration, home)
  const tls = await openCertificate(configuration, log)
  const engine = await openEngine(configuration, { home, log, onProgress })
  try {
    onProgress('Preparing the database')
    const app: Address | undefined =
      configuration.databaseAppUrl === undefined ? undefined : { url: configuration.databaseAppUrl }
    const prepared = await prepareDatabase({
      owner: engine.owner,
      app,
      binding: configuration.tenantBinding,
      masterKeys,
      acceptNewer: true,
    })
    const database = new Database({
      address: prepared.app,
      server: prepared.server,
      connections: configuration.databaseConnections,
    })
    const cloud = await openCloud({
      ...configuration,
      database,
      listenAt: prepared.server.pooled ? undefined : prepared.app,
      channelSuffix: '',
      secrets: prepared.secrets,
      masterKeys,
      log,
      local: configuration.services,
      remote,
      baseUrl: configuration.baseUrl ?? originOf(configuration.host, configuration.port, tls),
      tls,
      peerAuthority,
      remoteAccessHost: configuration.remoteAccessHost ?? defaultRemoteAccessHost(configuration, tls),
      artefacts,
      packageFolder: resolve(configuration.packageFolder ?? packageFolder),
      metricsFromLoopback: configuration.baseUrl === undefined && configuration.trustedProxies.length === 0,
      tracing: startTracing(configuration, log),
      home,
      strict: false,
    })
    let redirect: HttpRedirect | undefined
    try {
      // The first run needs the URL, so it starts after the server listens. The platform is not ready before the first
      // run is committed.
      cloud.setNotReady('The first run is not finished')
      const port = await cloud.listen(configuration)
      const baseUrl = configuration.baseUrl ?? originOf(configuration.host, port, tls)
      cloud.setBaseUrl(baseUrl)
      redirect = await openRedirect(configuration, baseUrl)
      const made = await firstRun({
        cloud,
        owner: engine.owner,
        home,
        baseUrl,
        isIdentityHere: isHere(configuration, 'identity'),
      })
      const hasLocalGateway = withGateway && configuration.localGateway === 'on' && hasAllServices(configuration)
      cloud.setNotReady(hasLocalGateway ? 'The local gateway is not enrolled' : undefined)
      return {
        cloud,
        baseUrl,
        tls,
        tlsAuthority: peerAuthority,
        home,
        firstRun: made,
        hasLocalGateway,
        setReady: () => cloud.setNotReady(undefined),
        failed: engine.failed,
        stop: () => stop({ cloud, engine, redirect, log }),
      }
    } catch (error) {
      await redirect?.close()
      await cloud.close()
      throw error
    }
  } catch (error) {
    await tls?.close()
    await engine.stop()
    throw error
  }
}

export async function createHome(folder: string): Promise<string> {
  const home = resolve(folder)
  await mkdir(home, { recursive: true, mode: 0o711 }).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`The folder ${home} cannot be created (${error.code}): set MILLWRIGHT_HOME to another folder.`)
  })
  return home
}

async function openCertificate(
  { tlsCert: certFile, tlsKey: keyFile }: CloudConfiguration,
  log: Log,
): Promise<CertificateFiles | undefined> {
  if (certFile === undefined || keyFile === undefined) return undefined
  return CertificateFiles.open({ certFile: resolve(certFile), keyFile: resolve(keyFile), log })
}

async function openRedirect(
  { host, httpRedirectPort: port }: CloudConfiguration,
  baseUrl: string,
): Promise<HttpRedirect | undefined> {
  return port === 0 ? undefined : startHttpRedirect({ host, port, baseUrl })
}

/**
 * Returns the host names for web pages of devices on a machine without a base URL. A certificate cannot contain
 * `*.localhost`, so the names with TLS have one more label.
 */
function defaultRemoteAccessHost(
  { baseUrl }: CloudConfiguration,
  tls: CertificateFiles | undefined,
): string | undefined {
  if (baseUrl !== undefined) return undefined
  if (tls === undefined) return '*.localhost'
  return tls.pair.certificate.checkHost('device.remote.localhost') === undefined ? undefined : '*.remote.localhost'
}

type Engine = { owner: Address; failed: Promise<string>; stop(): Promise<void> }

/** Opens the configured database server, or an embedded one in the home. */
async function openEngine(
  configuration: CloudConfiguration,
  { home, log, onProgress }: { home: string; log: Log; onProgress: Progress },
): Promise<Engine> {
  if (configuration.databaseUrl !== undefined) {
    return { owner: { url: configuration.databaseUrl }, failed: new Promise(() => {}), stop: async () => {} }
  }
  onProgress('Starting PostgreSQL')
  const postgres = await startPostgres({ home, log: onProgress, warn: (sentence) => log.warn(sentence) })
  await ensureDatabase(postgres.connection)
  const failed = postgres.exited.then(() => `PostgreSQL ended because the data in ${home} was deleted.`)
  return { owner: embeddedOwner(postgres.connection), failed, stop: postgres.stop }
}

export async function ensureDatabase(connection: Address): Promise<void> {
  const client = await openClient(connection)
  try {
    const { rows } = await client.query('select from pg_database where datname = $1', [embeddedDatabase])
    if (rows.length === 0) await client.query(`create database ${embeddedDatabase}`)
  } finally {
    await client.end()
  }
}

/** Returns the address of the product's database on the embedded server of a home. */
export function embeddedOwner(connection: Exclude<Address, { url: string }>): Address {
  return { ...connection, database: embeddedDatabase }
}

function peersOf(peers: readonly string[]): Map<string, string> {
  const entries = peers.map((entry): [string, string] => {
    const [, name, url] = /^([a-z-]+)=(https?:\/\/.+)$/.exec(entry) ?? []
    if (name !== undefined && url !== undefined && URL.canParse(url)) return [name, url]
    throw new StartError(`MILLWRIGHT_PEERS must be a list of name=url, separated by commas, but contains "${entry}".`)
  })
  return new Map(entries)
}

/** Returns true if a service runs in this process. */
function isHere({ services, peers }: CloudConfiguration, name: string): boolean {
  return services.length === 0 ? !peersOf(peers).has(name) : services.includes(name)
}

/** Returns true if all services run in this process. */
function hasAllServices({ services, peers }: CloudConfiguration): boolean {
  return services.length === 0 && peers.length === 0
}

type Running = { cloud: Cloud; engine: Engine; redirect: HttpRedirect | undefined; log: Log }

async function stop({ cloud, engine, redirect, log }: Running): Promise<void> {
  await redirect?.close()
  await cloud.close()
  await engine.stop()
  log.flush()
}
