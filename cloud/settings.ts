import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { tracesUrl } from '@millwright/api/tracing.ts'
import {
  type Configuration,
  choice,
  integer,
  list,
  origin,
  originOf,
  readConfiguration,
  type Setting,
  text,
  url,
  wildcardHost,
} from './platform/configuration.ts'
import { limits } from './platform/limits.ts'
import { logLevels } from './platform/log.ts'
import { Outbound } from './platform/outbound.ts'
import { outboundEntry } from './platform/outbound-entry.ts'
import type { ArtefactSettings } from './platform/service.ts'
import { StartError } from './platform/start-error.ts'
import { samplers } from './platform/tracing.ts'

/** Returns the text if it is a numeric IP address or network. */
function networkOrUndefined(text: string): string | undefined {
  const [address = '', bits, ...more] = text.split('/')
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= longest)
  return longest > 0 && fits && more.length === 0 ? text : undefined
}

/** Creates a setting for a URL of a collector. */
function collector(variable: string, { help }: { help: string }): Setting<string | undefined> {
  const parse = (value: string) => {
    if (tracesUrl(value) !== undefined) return value
    throw new StartError(`${variable} must be a URL that starts with http:// or https://, without a password.`)
  }
  return { variable, help, default: undefined, parse }
}

/** Creates a setting for a number from 0 to 1. */
function ratio(variable: string, description: { default: number; help: string }): Setting<number> {
  const parse = (value: string) => {
    const number = Number(value)
    if (/^[\d.]+$/.test(value) && number >= 0 && number <= 1) return number
    throw new StartError(`${variable} must be a number from 0 to 1, but is "${value}".`)
  }
  return { variable, ...description, parse }
}

/** All settings of the platform with their defaults. `millwright config` prints them. */
export const cloudSettings = {
  home: text('MILLWRIGHT_HOME', { default: '.millwright', help: 'Folder for data, keys and logs' }),
  host: text('MILLWRIGHT_HOST', { default: '127.0.0.1', help: 'Address to listen on' }),
  port: integer('MILLWRIGHT_PORT', {
    default: 8080,
    minimum: 0,
    maximum: 65_535,
    help: 'Port to listen on; 0 selects a free port',
  }),
  baseUrl: origin('MILLWRIGHT_BASE_URL', {
    default: undefined,
    help: 'Public address of the platform if it differs from host and port (a proxy, several processes); the issuer of tokens',
  }),
  tlsCert: text('MILLWRIGHT_TLS_CERT', {
    default: undefined,
    help: 'File of the TLS certificate with its chain (PEM); a new file is used without a restart',
  }),
  tlsKey: text('MILLWRIGHT_TLS_KEY', {
    default: undefined,
    help: 'File of the key of the TLS certificate (PEM, without a passphrase)',
  }),
  tlsAuthority: text('MILLWRIGHT_TLS_AUTHORITY', {
    default: undefined,
    help: 'File of the authorities whose certificates this process accepts from other processes of the platform (PEM)',
  }),
  httpRedirectPort: integer('MILLWRIGHT_HTTP_REDIRECT_PORT', {
    default: 0,
    minimum: 0,
    maximum: 65_535,
    help: 'Port that redirects http requests to the base URL, such as 80; 0 for none',
  }),
  databaseUrl: url('DATABASE_URL', {
    default: undefined,
    protocols: ['postgres:', 'postgresql:'],
    secret: true,
    help: 'Your own PostgreSQL server (15 or newer), as the owner of the database; without it, an embedded server is started',
  }),
  databaseAppUrl: url('MILLWRIGHT_DATABASE_APP_URL', {
    default: undefined,
    protocols: ['postgres:', 'postgresql:'],
    secret: true,
    help: 'The same server as the application role; without it, a login role is created',
  }),
  databaseConnections: integer('MILLWRIGHT_DATABASE_CONNECTIONS', {
    default: 12,
    minimum: 2,
    maximum: 500,
    help: 'Database connections of this process',
  }),
  tenantBinding: choice('MILLWRIGHT_TENANT_BINDING', {
    default: 'auto',
    of: ['auto', 'session', 'transaction'],
    help: 'How a tenant is bound to a connection; auto detects it (transaction on Citus and behind a pooler)',
  }),
  masterKey: text('MILLWRIGHT_MASTER_KEY', {
    default: undefined,
    secret: true,
    help: 'Master key that wraps all other keys, 32 bytes in base64; without it, the file master.key in the home',
  }),
  previousMasterKeys: list('MILLWRIGHT_MASTER_KEY_PREVIOUS', {
    default: [],
    secret: true,
    help: 'Previous master keys, separated by commas: during rotate-master, and for old backups',
  }),
  masterKeyFile: text('MILLWRIGHT_MASTER_KEY_FILE', {
    default: undefined,
    help: 'File of the master key if it is not master.key in the home',
  }),
  vaultAddress: origin('MILLWRIGHT_VAULT_ADDRESS', {
    default: undefined,
    help: 'Vault or OpenBao server whose transit key wraps the master key (https, or this machine)',
  }),
  vaultKey: text('MILLWRIGHT_VAULT_KEY', { default: 'millwright', help: 'Name of the transit key in Vault' }),
  vaultMount: text('MILLWRIGHT_VAULT_MOUNT', { default: 'transit', help: 'Mount path of the transit engine in Vault' }),
  vaultNamespace: text('MILLWRIGHT_VAULT_NAMESPACE', { default: undefined, help: 'Vault namespace, if any' }),
  vaultToken: text('MILLWRIGHT_VAULT_TOKEN', {
    default: undefined,
    secret: true,
    help: 'Vault token that can encrypt and decrypt with the transit key',
  }),
  vaultTokenFile: text('MILLWRIGHT_VAULT_TOKEN_FILE', {
    default: undefined,
    help: 'File with the Vault token; read again for each use, so that an agent can renew it',
  }),
  localGateway: choice('MILLWRIGHT_LOCAL_GATEWAY', {
    default: 'on',
    of: ['on', 'off'],
    help: 'Whether npm start also runs a local gateway with a simulated plant',
  }),
  services: list('MILLWRIGHT_SERVICES', {
    default: [],
    help: 'Services to run in this process, separated by commas; empty for all',
  }),
  peers: list('MILLWRIGHT_PEERS', { default: [], help: 'Addresses of other services: name=url, separated by commas' }),
  tokenLifetimeSeconds: integer('MILLWRIGHT_TOKEN_LIFETIME', {
    default: 3600,
    minimum: 60,
    maximum: limits.tokenLifetimeSeconds,
    help: 'Lifetime of access tokens in seconds',
  }),
  rateLimit: integer('MILLWRIGHT_RATE_LIMIT', {
    default: 1000,
    minimum: 1,
    maximum: 1_000_000,
    help: 'Requests per second from one principal',
  }),
  corsOrigins: list('MILLWRIGHT_CORS_ORIGINS', {
    default: [],
    part: originOf,
    like: 'https://pages.example',
    help: 'Origins of web pages that can call the API from a browser',
  }),
  trustedProxies: list('MILLWRIGHT_TRUSTED_PROXIES', {
    default: [],
    part: networkOrUndefined,
    like: '10.0.0.5 or 10.0.0.0/8',
    help: 'Addresses or networks of proxies whose X-Forwarded-For header is trusted',
  }),
  outboundAllow: list('MILLWRIGHT_OUTBOUND_ALLOW', {
    default: [],
    part: (text) => (outboundEntry(text) === undefined ? undefined : text),
    like: 'login.example.com, *.example.com, 10.20.0.0/16 or [::1]:8443',
    help: 'Hosts and networks to which the platform can connect (identity providers, object stores, receivers of webhooks, MQTT brokers), separated by commas; empty for none',
  }),
  metricsToken: text('MILLWRIGHT_METRICS_TOKEN', {
    default: undefined,
    secret: true,
    help: 'Bearer token for /metrics; required from other machines, and always with a base URL or trusted proxies',
  }),
  internalUrl: origin('MILLWRIGHT_INTERNAL_URL', {
    default: undefined,
    help: 'Address at which other processes of the platform reach this one; default: this machine and the port',
  }),
  remoteAccessHost: wildcardHost('MILLWRIGHT_REMOTE_ACCESS_HOST', {
    default: undefined,
    help: 'Host names for the web pages of devices, such as *.remote.example.com; without a base URL, the default is *.localhost',
  }),
  artefactFolder: text('MILLWRIGHT_ARTEFACT_FOLDER', {
    default: undefined,
    help: 'Folder for the contents of artefacts, which all processes of one database must share; default: the folder artefacts in the home',
  }),
  artefactStore: url('MILLWRIGHT_ARTEFACT_STORE', {
    default: undefined,
    protocols: ['s3:'],
    help: 'Bucket of an S3-compatible store for the contents of artefacts, such as s3://bucket/prefix; without it, MILLWRIGHT_ARTEFACT_FOLDER',
  }),
  s3Endpoint: origin('MILLWRIGHT_S3_ENDPOINT', {
    default: undefined,
    help: 'Address of the S3-compatible store, such as https://s3.example.com',
  }),
  s3Region: text('MILLWRIGHT_S3_REGION', { default: 'us-east-1', help: 'Region of the S3-compatible store' }),
  s3AccessKey: text('MILLWRIGHT_S3_ACCESS_KEY', {
    default: undefined,
    help: 'Access key of the S3-compatible store',
  }),
  s3SecretKey: text('MILLWRIGHT_S3_SECRET_KEY', {
    default: undefined,
    secret: true,
    help: 'Secret key of the S3-compatible store',
  }),
  packageFolder: text('MILLWRIGHT_PACKAGE_FOLDER', {
    default: undefined,
    help: 'Folder with the gateway package that new gateways download; default: the folder dist of the program, which npm run package fills',
  }),
  logLevel: choice('MILLWRIGHT_LOG_LEVEL', {
    default: 'warn',
    of: logLevels,
    help: 'Log level (JSON lines on stderr)',
  }),
  slowRequestMs: integer('MILLWRIGHT_SLOW_REQUEST_MS', {
    default: 1_000,
    minimum: 0,
    maximum: 3_600_000,
    help: 'Requests that take at least this number of milliseconds are logged; 0 for none',
  }),
  slowStatementMs: integer('MILLWRIGHT_SLOW_STATEMENT_MS', {
    default: 500,
    minimum: 0,
    maximum: 3_600_000,
    help: 'Database statements that take at least this number of milliseconds are logged, without values; 0 for none',
  }),
  tracesBaseUrl: collector('OTEL_EXPORTER_OTLP_ENDPOINT', {
    help: 'Address of the collector for traces (OTLP over HTTP), such as http://127.0.0.1:4318; without it, no traces. The platform can connect to it without an entry in MILLWRIGHT_OUTBOUND_ALLOW',
  }),
  tracesUrl: collector('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', {
    help: 'URL for traces if the collector does not use the path /v1/traces',
  }),
  tracesHeaders: list('OTEL_EXPORTER_OTLP_HEADERS', {
    default: [],
    secret: true,
    help: 'Headers for the collector: name=value, separated by commas',
  }),
  tracesService: text('OTEL_SERVICE_NAME', { default: 'millwright', help: 'Name of this process in traces' }),
  tracesSampler: choice('OTEL_TRACES_SAMPLER', {
    default: 'parentbased_always_on',
    of: samplers,
    help: 'Which traces are exported; the parentbased samplers follow the decision of the caller',
  }),
  tracesRatio: ratio('OTEL_TRACES_SAMPLER_ARG', {
    default: 1,
    help: 'Fraction of the traces that the traceidratio samplers export, from 0 to 1',
  }),
}

export type CloudConfiguration = Configuration<typeof cloudSettings>

export function readCloudConfiguration(environment: Record<string, string | undefined>): CloudConfiguration {
  const configuration = readConfiguration(cloudSettings, environment, otherVariables)
  requireSeparateHost(configuration)
  requireCompleteTls(configuration)
  return configuration
}

/**
 * Refuses a wildcard host that contains the host of the platform. Pages of devices could otherwise set cookies for the
 * platform.
 */
function requireSeparateHost({ baseUrl, remoteAccessHost }: CloudConfiguration): void {
  if (baseUrl === undefined || remoteAccessHost === undefined) return
  const { hostname } = new URL(baseUrl)
  if (!`.${hostname}`.endsWith(remoteAccessHost.slice(1))) return
  throw new StartError(
    `The host ${hostname} of MILLWRIGHT_BASE_URL is in the domain of MILLWRIGHT_REMOTE_ACCESS_HOST (${remoteAccessHost}). Set MILLWRIGHT_REMOTE_ACCESS_HOST to another domain.`,
  )
}

function requireCompleteTls({ tlsCert, tlsKey, httpRedirectPort, ...addresses }: CloudConfiguration): void {
  const { baseUrl, internalUrl } = addresses
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new StartError('MILLWRIGHT_TLS_CERT and MILLWRIGHT_TLS_KEY belong together: set both, or none.')
  for (const [variable, url] of Object.entries({ MILLWRIGHT_BASE_URL: baseUrl, MILLWRIGHT_INTERNAL_URL: internalUrl }))
    if (tlsCert !== undefined && url?.startsWith('http:') === true)
      throw new StartError(`${variable} is ${url}, but the platform uses TLS: use an address with https://.`)
  if (httpRedirectPort !== 0 && tlsCert === undefined && baseUrl?.startsWith('https:') !== true)
    throw new StartError('MILLWRIGHT_HTTP_REDIRECT_PORT needs TLS: set MILLWRIGHT_TLS_CERT and MILLWRIGHT_TLS_KEY.')
}

/** Returns the folder for the contents of artefacts. */
export function artefactFolderOf({ artefactFolder }: Pick<CloudConfiguration, 'artefactFolder'>, home: string): string {
  return resolve(artefactFolder ?? join(home, 'artefacts'))
}

/** Returns where the contents of artefacts are stored. */
export function artefactSettings(
  { artefactFolder, artefactStore, s3Endpoint, s3Region, s3AccessKey, s3SecretKey, outboundAllow }: CloudConfiguration,
  home: string,
): ArtefactSettings {
  const folder = artefactFolderOf({ artefactFolder }, home)
  if (artefactStore === undefined) return { folder, s3: undefined }
  const { hostname: bucket, pathname } = new URL(artefactStore)
  const required = {
    MILLWRIGHT_S3_ENDPOINT: s3Endpoint,
    MILLWRIGHT_S3_ACCESS_KEY: s3AccessKey,
    MILLWRIGHT_S3_SECRET_KEY: s3SecretKey,
  }
  for (const [variable, value] of Object.entries(required))
    if (value === undefined)
      throw new StartError(`MILLWRIGHT_ARTEFACT_STORE is set, but ${variable} is not: set it too.`)
  const prefix = pathname.replace(/^\/+|\/+$/g, '')
  const [endpoint = '', accessKey = '', secretKey = ''] = Object.values(required)
  requireAllowed(endpoint, outboundAllow)
  return { folder, s3: { endpoint, region: s3Region, bucket, prefix, accessKey, secretKey } }
}

/** Throws an error at the start if the platform cannot connect to the S3-compatible store. */
function requireAllowed(endpoint: string, allow: readonly string[]): void {
  try {
    new Outbound({ allow }).require(endpoint)
  } catch {
    throw new StartError(
      `MILLWRIGHT_OUTBOUND_ALLOW does not contain the host of MILLWRIGHT_S3_ENDPOINT: add ${new URL(endpoint).host} to the list.`,
    )
  }
}

/** Variables that the tests read. They are listed here, so that the check for unknown names accepts them. */
export const testVariables = [
  'MILLWRIGHT_TEST_DATABASE_URL',
  'MILLWRIGHT_TEST_BINDING',
  'MILLWRIGHT_TEST_ARRANGEMENT',
  'MILLWRIGHT_TEST_SERVER',
  'MILLWRIGHT_TEST_HOME',
  'MILLWRIGHT_TEST_PYTHON',
  'MILLWRIGHT_TEST_FACTOR',
  'MILLWRIGHT_FUZZ',
]

/** Variables of development tools, which run on the same machine as a platform in a clone. */
const toolVariables = ['MILLWRIGHT_SIGNING_KEY']

/** Variables of the command line program. The platform ignores them. */
export const commandLineVariables = [
  'MILLWRIGHT_URL',
  'MILLWRIGHT_PROFILE',
  'MILLWRIGHT_TOKEN',
  'MILLWRIGHT_CLIENT_ID',
  'MILLWRIGHT_CLIENT_SECRET',
  'MILLWRIGHT_AUTHORITY',
]

/** Variables of the gateway, which may run on the same machine. */
export const gatewayVariables = [
  'MILLWRIGHT_GATEWAY_HOME',
  'MILLWRIGHT_GATEWAY_CONFIG',
  'MILLWRIGHT_GATEWAY_REGISTRY_HOST',
  'MILLWRIGHT_GATEWAY_REGISTRY_PORT',
  'MILLWRIGHT_GATEWAY_PROXY_PORT',
  'MILLWRIGHT_GATEWAY_TLS_HOST',
  'MILLWRIGHT_GATEWAY_TLS_PORT',
  'MILLWRIGHT_GATEWAY_AGENT_TLS_PORT',
  'MILLWRIGHT_GATEWAY_TLS_NAMES',
  'MILLWRIGHT_LINK_VENDORS',
  'MILLWRIGHT_GATEWAY_LINKS',
  'MILLWRIGHT_GATEWAY_SPOOL_MIB',
  'MILLWRIGHT_GATEWAY_LINK_SILENCE_SECONDS',
  'MILLWRIGHT_GATEWAY_ARTEFACT_CACHE_MB',
  'MILLWRIGHT_GATEWAY_HTTP_PROXY',
  'MILLWRIGHT_GATEWAY_LOG_LEVEL',
  'MILLWRIGHT_GATEWAY_TRACES_URL',
]

/** Variables of asset links, which may run on the same machine. */
export const linkVariables = [
  'MILLWRIGHT_LINK_HOST',
  'MILLWRIGHT_LINK_PORT',
  'MILLWRIGHT_LINK_ADVERTISED_HOST',
  'MILLWRIGHT_LINK_ADVERTISED_PORT',
  'MILLWRIGHT_LINK_REGISTRY',
  'MILLWRIGHT_LINK_VENDORS',
  'MILLWRIGHT_LINK_INSTANCE',
  'MILLWRIGHT_LINK_HOME',
  'MILLWRIGHT_LINK_TLS_CERT',
  'MILLWRIGHT_LINK_TLS_KEY',
  'MILLWRIGHT_LINK_TLS_AUTHORITY',
  'MILLWRIGHT_LINK_TRACES_URL',
  'MILLWRIGHT_LINK_LOG_LEVEL',
]

const otherVariables = [
  ...testVariables,
  ...toolVariables,
  ...commandLineVariables,
  ...gatewayVariables,
  ...linkVariables,
]

/** Returns the variables of all programs of the product. */
export function allVariables(): string[] {
  return [...Object.values(cloudSettings).map(({ variable }) => variable), ...otherVariables]
}
