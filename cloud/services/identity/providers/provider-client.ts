import { Problem } from '@millwright/api/problem.ts'
import { createRemoteJWKSet, type JWTVerifyGetKey, customFetch as keyFetch } from 'jose'
import * as client from 'openid-client'
import { LruMap } from 'toad-cache'
import type { Outbound } from '../../../platform/outbound.ts'
import { ProviderError, type ProviderErrorCode } from './provider-error.ts'
import type { ProviderRow } from './provider-store.ts'

/** The maximum difference between the clocks of the platform and of a provider. */
export const clockToleranceSeconds = 60

/** The signature algorithms that the platform accepts from providers. Symmetric algorithms and `none` are not included. */
export const signatureAlgorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

const limits = {
  /** How long a discovery document is cached. */
  cachedMs: 10 * 60_000,
  /** How long a failed discovery is cached, so that many sign-ins do not wait for an unreachable provider. */
  failedMs: 5_000,
  /** The number of cached discovery documents. */
  documents: 1_000,
  requestSeconds: 10,
  /** After an unknown key id, the keys of a provider are read again at most this often. */
  keysCooldownMs: 30_000,
}

/** The discovery document of a provider and its public keys. */
export type Discovery = { metadata: client.ServerMetadata; keys: JWTVerifyGetKey }

/** The result of a check. `code` is the error that prevented the check. */
type ProviderCheck = { problems: string[]; endpoints: Record<string, string>; code?: ProviderErrorCode }

type CachedDiscovery = { expiresAtMs: number; discovery: Promise<Discovery> }

/**
 * `ProviderClients` connects to identity providers. All requests go through the list of permitted hosts. It caches
 * discovery documents by issuer.
 */
export class ProviderClients {
  readonly #outbound: Outbound
  readonly #cache = new LruMap<CachedDiscovery>(limits.documents)

  constructor({ outbound }: { outbound: Outbound }) {
    this.#outbound = outbound
  }

  /** Returns the discovery document of an issuer. Concurrent callers share one request. */
  discover(issuer: string): Promise<Discovery> {
    const now = performance.now()
    const cached = this.#cache.get(issuer)
    if (cached !== undefined && cached.expiresAtMs > now) return cached.discovery
    const entry = { expiresAtMs: now + limits.cachedMs, discovery: this.#load(issuer) }
    entry.discovery.catch(() => {
      entry.expiresAtMs = performance.now() + limits.failedMs
    })
    this.#cache.set(issuer, entry)
    return entry.discovery
  }

  /** Reads the discovery document again, at the next use. */
  forget(issuer: string): void {
    this.#cache.delete(issuer)
  }

  /** Returns the client for sign-ins with a provider. */
  configuration(
    provider: Pick<ProviderRow, 'clientId' | 'issuer'>,
    { metadata }: Discovery,
    secret: string | undefined,
  ) {
    const authentication = authenticationFor(metadata, secret)
    const tolerance = { [client.clockTolerance]: clockToleranceSeconds }
    const configuration = new client.Configuration(metadata, provider.clientId, tolerance, authentication)
    configuration[client.customFetch] = this.#fetch
    configuration.timeout = limits.requestSeconds
    client.enableNonRepudiationChecks(configuration)
    if (isHttp(provider.issuer)) client.allowInsecureRequests(configuration)
    return configuration
  }

  /** Returns what is wrong with a provider and what to do. The list is empty for a usable provider. */
  async check({ issuer, hasClientSecret }: { issuer: string; hasClientSecret: boolean }): Promise<ProviderCheck> {
    this.forget(issuer)
    try {
      const { metadata } = await this.discover(issuer)
      const problems = [...faultsOf(metadata, hasClientSecret), ...this.#forbidden(metadata)]
      if (problems.length === 0) problems.push(...(await this.#keyFaults(metadata)))
      return { problems, endpoints: endpointsOf(metadata) }
    } catch (error) {
      const { code, message } = providerErrorOf(error)
      return { problems: [message], endpoints: {}, code }
    }
  }

  async #load(issuer: string): Promise<Discovery> {
    try {
      this.#outbound.require(issuer)
      const options = {
        [client.customFetch]: this.#fetch,
        timeout: limits.requestSeconds,
        execute: isHttp(issuer) ? [client.allowInsecureRequests] : [],
      }
      const found = await client.discovery(new URL(issuer), 'millwright', undefined, client.None(), options)
      const metadata = usableMetadata(structuredClone(found.serverMetadata()), issuer)
      const keys = createRemoteJWKSet(new URL(metadata.jwks_uri ?? ''), {
        [keyFetch]: (url, init) =>
          this.#outbound.fetch(url, init).catch((error) => Promise.reject(providerErrorOf(error))),
        timeoutDuration: limits.requestSeconds * 1000,
        cooldownDuration: limits.keysCooldownMs,
        cacheMaxAge: limits.cachedMs,
      })
      return { metadata, keys }
    } catch (error) {
      throw providerErrorOf(error, 'invalid_provider')
    }
  }

  readonly #fetch: client.CustomFetch = (url, { body, ...init }) => {
    if (body instanceof ReadableStream || body instanceof ArrayBuffer) throw new TypeError('The body must be a text')
    return this.#outbound.fetch(url, { ...init, body: (body ?? null) as string | null })
  }

  /** Returns the endpoints to which the platform itself must connect, but cannot. */
  #forbidden(metadata: client.ServerMetadata): string[] {
    return [metadata.token_endpoint, metadata.jwks_uri].flatMap((url) => {
      try {
        this.#outbound.require(url ?? '')
        return []
      } catch (error) {
        return [error instanceof Problem ? error.message : `The address ${url} is not valid`]
      }
    })
  }

  async #keyFaults({ jwks_uri = '' }: client.ServerMetadata): Promise<string[]> {
    const response = await this.#outbound.fetch(jwks_uri)
    const document = (await response.json().catch(() => undefined)) as { keys?: unknown } | undefined
    const isUsable = response.status === 200 && Array.isArray(document?.keys) && document.keys.length > 0
    return isUsable ? [] : [`The address ${jwks_uri} (jwks_uri) does not return keys. Check the provider`]
  }
}

function isHttp(url: string): boolean {
  return new URL(url).protocol === 'http:'
}

/** Checks the parts of a discovery document that every use of a provider needs. */
function usableMetadata(metadata: client.ServerMetadata, issuer: string): client.ServerMetadata {
  if (metadata.issuer !== issuer) {
    throw new ProviderError(
      'invalid_provider',
      `The provider calls itself ${metadata.issuer}, but the configured issuer is ${issuer}. Use the exact text of the provider. The shared addresses of Entra ID (common, organizations) are not supported`,
    )
  }
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    if (!isEndpoint(metadata[name], issuer)) {
      throw new ProviderError(
        'invalid_provider',
        `The discovery document of the provider has no valid ${name} with https. Check the provider`,
      )
    }
  }
  const { end_session_endpoint: logout, id_token_signing_alg_values_supported: algorithms, ...rest } = metadata
  return {
    ...rest,
    ...(isEndpoint(logout, issuer) ? { end_session_endpoint: logout } : {}),
    // Without this list, the library accepts only RS256.
    id_token_signing_alg_values_supported: (algorithms ?? ['RS256']).filter((name) =>
      signatureAlgorithms.includes(name),
    ),
  }
}

/** Returns whether a URL of a discovery document can be used. Only a provider with http can have endpoints with http. */
function isEndpoint(url: unknown, issuer: string): url is string {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { protocol } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && isHttp(issuer))
}

/**
 * Returns how the client authenticates at the token endpoint: in the form if the provider supports it, else with Basic.
 * Providers differ in how they decode the characters of a Basic header.
 */
function authenticationFor(metadata: client.ServerMetadata, secret: string | undefined): client.ClientAuth {
  if (secret === undefined) return client.None()
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_post') ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret)
}

function faultsOf(metadata: client.ServerMetadata, hasClientSecret: boolean): string[] {
  const {
    response_types_supported: responseTypes,
    code_challenge_methods_supported: challenges,
    token_endpoint_auth_methods_supported: methods,
    id_token_signing_alg_values_supported: algorithms = [],
  } = metadata
  const accepted = hasClientSecret ? ['client_secret_basic', 'client_secret_post'] : ['none']
  return [
    ...(responseTypes?.includes('code') === false ? ['The provider does not support the response type code'] : []),
    ...(challenges?.includes('S256') === false ? ['The provider does not support PKCE with S256'] : []),
    ...(algorithms.length === 0
      ? [`The provider signs ID tokens with no accepted algorithm. Configure one of ${signatureAlgorithms.join(', ')}`]
      : []),
    ...(methods !== undefined && !accepted.some((method) => methods.includes(method))
      ? [
          hasClientSecret
            ? 'The provider supports neither client_secret_basic nor client_secret_post'
            : 'The provider does not support public clients. Enter the client secret',
        ]
      : []),
  ]
}

function endpointsOf(metadata: client.ServerMetadata): Record<string, string> {
  const names = ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'end_session_endpoint'] as const
  return Object.fromEntries(names.flatMap((name) => (metadata[name] === undefined ? [] : [[name, metadata[name]]])))
}

const shortText = (text: unknown) =>
  String(text)
    .replace(/[^\x20-\x7e]/g, '')
    .slice(0, 200)

/** Converts an error of a request to a provider. The message contains no tokens, codes or secrets. */
export function providerErrorOf(
  error: unknown,
  invalid: 'invalid_provider' | 'invalid_response' = 'invalid_response',
): ProviderError {
  if (error instanceof ProviderError) return error
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof Problem) return new ProviderError('outbound_not_allowed', cause.message, { cause: error })
  if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError) {
    const message = `The provider refused the sign-in with the error ${shortText(error.error)}. Check the client at the provider: client id, client secret, redirect address and scopes`
    return new ProviderError('provider_refused', message, { cause: error })
  }
  // The library wraps the error of a failed connection in an error without a code.
  const isWrapped = error instanceof client.ClientError && error.code === undefined && error.cause instanceof Error
  const failure = isWrapped ? error.cause : error
  if (failure instanceof client.ClientError && !['OAUTH_TIMEOUT', 'OAUTH_ABORT'].includes(failure.code ?? '')) {
    const reason = `${shortText(failure.message)}${failure.code === undefined ? '' : ` (${failure.code})`}`
    const what = invalid === 'invalid_provider' ? 'The discovery document' : 'The response'
    return new ProviderError(invalid, `${what} of the provider is not valid: ${reason}. Check the provider`, {
      cause: error,
    })
  }
  const reason = failure instanceof Error ? shortText(failure.message) : 'unknown error'
  const message = `The provider cannot be reached: ${reason}. Check the address, the certificate and the network`
  return new ProviderError('provider_unreachable', message, { cause: error })
}
