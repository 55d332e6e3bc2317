import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { client, overHttp } from '@millwright/api/client.ts'
import { GatewayConfig, onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import Value from 'typebox/value'
import type { Clock } from '../clock.ts'
import { readIfExists, writeDurably } from '../durable-file.ts'
import { PlatformConnector } from '../platform/platform-connector.ts'
import { fetchOver } from '../platform/platform-fetch.ts'
import { type PlatformTrust, readTrust, UntrustedPlatformError } from '../platform/platform-trust.ts'
import { SetupError } from '../setup-error.ts'
import { gatewayVersion } from '../version.ts'
import type { OwnKey } from './key.ts'
import { enrolmentProof } from './signatures.ts'

/** `Identity` is the identity of an enrolled gateway. */
export type Identity = {
  gatewayId: string
  clientId: string
  tenantName: string
  name: string
  baseUrl: string
  /** Which certificate of the platform the gateway accepts. */
  tls?: PlatformTrust
  /** The hash of the enrolment token. If the configuration file contains another token, the gateway enrols again. */
  enrolledWith: string
}

type Options = { home: string; configFile: string; key: OwnKey; clock: Clock; proxy?: string | undefined }

/** Returns the stored identity, or enrols the gateway with the configuration file. */
export async function enrolledIdentity(options: Options): Promise<Identity> {
  const file = join(options.home, 'identity.json')
  const written = await readIfExists(file)
  const stored: Identity | undefined = written === undefined ? undefined : JSON.parse(written)
  const config = await readConfig(options.configFile)
  if (config === undefined) {
    if (stored !== undefined) return stored
    throw new SetupError(
      `${options.configFile} does not exist: register a gateway on the platform, download its gateway-config.json, and copy it there or pass it with --config.`,
    )
  }
  if (stored !== undefined && stored.gatewayId !== config.gatewayId) {
    throw new SetupError(
      `${options.home} belongs to the gateway "${stored.name}" (${stored.gatewayId}), but ${options.configFile} is for "${config.name}" (${config.gatewayId}): use a separate home for each gateway.`,
    )
  }
  const tls = await readTrust(config, options.configFile)
  const isSameFile = stored?.enrolledWith === hashOf(config.enrolmentToken)
  // The address and the certificate of the platform may have changed, so they are read from the configuration file.
  const identity = isSameFile
    ? withTrust({ ...stored, baseUrl: config.baseUrl }, tls)
    : await enrol(config, tls, options).catch(fallBackTo(stored))
  await writeDurably(file, `${JSON.stringify(identity, null, 2)}\n`)
  return identity
}

function withTrust({ tls: _before, ...identity }: Identity, tls: PlatformTrust | undefined): Identity {
  return tls === undefined ? identity : { ...identity, tls }
}

/**
 * Returns the stored identity when the enrolment with a new configuration file fails, because the gateway can still use
 * that identity.
 */
function fallBackTo(stored: Identity | undefined): (error: unknown) => Identity {
  return (error) => {
    if (stored !== undefined) return stored
    throw error
  }
}

async function readConfig(file: string): Promise<GatewayConfig | undefined> {
  const text = await readIfExists(file).catch((error: NodeJS.ErrnoException) => {
    throw new SetupError(`${file} cannot be read: ${error.code ?? error.message}.`)
  })
  if (text === undefined) return undefined
  const config = parseJson(text)
  if (!Value.Check(GatewayConfig, config) || !/^https?:\/\//.test(config.baseUrl) || !URL.canParse(config.baseUrl)) {
    throw new SetupError(
      `${file} is not a valid gateway-config.json: create a new one on the platform and download it.`,
    )
  }
  return config
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function enrol(
  config: GatewayConfig,
  tls: PlatformTrust | undefined,
  { key, clock, proxy }: Options,
): Promise<Identity> {
  const { gatewayId, enrolmentToken, baseUrl, name } = config
  const platform = new PlatformConnector({ baseUrl, tls, proxy })
  const fetch = fetchOver(platform.dispatcher)
  let corrected = false
  const observing: typeof globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init)
    corrected = clock.observe(response.headers.get('date') ?? undefined)
    return response
  }
  const { enrol: send } = client(onboarding, overHttp({ baseUrl, fetch: observing }))
  const attempt = async () => {
    const proof = await enrolmentProof({ key, clock }, { gatewayId, enrolmentToken })
    const data = { gatewayId, enrolmentToken, publicKey: key.publicKey, proof, version: gatewayVersion }
    return send({ body: { data } })
  }
  const answer = await attempt()
    // If the first attempt was signed with a wrong time, its response has corrected the clock. In this case, the
    // enrolment is repeated.
    .catch((error: unknown) => (corrected ? attempt() : Promise.reject(error)))
    .catch((error: unknown) => {
      throw enrolmentError(error, config, clock)
    })
    .finally(() => platform.close())
  const { tenantName, clientId } = answer.data
  return withTrust({ gatewayId, clientId, tenantName, name, baseUrl, enrolledWith: hashOf(enrolmentToken) }, tls)
}

/** Returns the error for a failed enrolment: the reason and the next step. */
function enrolmentError(error: unknown, { baseUrl, expiresTimestamp, name }: GatewayConfig, clock: Clock): SetupError {
  if (error instanceof Problem && error.code === 'enrolment_refused') {
    if (Date.parse(expiresTimestamp) <= clock.now()) {
      return new SetupError(
        `The gateway-config.json of "${name}" expired at ${expiresTimestamp}: create a new one on the platform and start again.`,
        { cause: error },
      )
    }
    return new SetupError(
      `The platform refused to enrol "${name}": ${error.message}. A gateway-config.json can be used only once: create a new one and start again.`,
      { cause: error },
    )
  }
  if (error instanceof Problem) {
    return new SetupError(
      `${baseUrl} rejected the enrolment with HTTP status ${error.status}: ${error.message || error.title}. Check that this address is the platform that created the gateway-config.json.`,
      { cause: error },
    )
  }
  const untrusted = untrustedError(error)
  if (untrusted !== undefined)
    return new SetupError(`The gateway does not trust the platform. ${untrusted.message}`, { cause: error })
  return new SetupError(
    `The platform at ${baseUrl} is not reachable (${reasonOf(error)}): check the address, the network and proxies, then start again.`,
    { cause: error },
  )
}

function untrustedError(error: unknown): UntrustedPlatformError | undefined {
  if (error instanceof UntrustedPlatformError) return error
  return error instanceof Error ? untrustedError(error.cause) : undefined
}

/** Returns the root cause of a failed request. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return reasonOf(error.cause)
  const { code } = error as NodeJS.ErrnoException
  return code ?? error.message
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
