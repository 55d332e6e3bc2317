import { isIP } from 'node:net'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Client, Metadata } from '@grpc/grpc-js'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { interfaceName, linkServices, linkTokenKey, wireMethod } from '@millwright/api/link-protocol.ts'
import type { ServiceInfoSchema } from '@millwright/api/proto/generated/registry_pb.js'
import { callUnary } from './call.ts'
import type { Log } from './log.ts'
import { type LinkTls, registryCredentials, registryOptions } from './tls.ts'

/**
 * The maximum pause between two refreshes. It ensures that a link is registered again within one minute after a restart
 * of the registry.
 */
const longestPauseMs = 60_000
const retry = { firstMs: 1_000, longestMs: 30_000 } as const
const answerWithinMs = 10_000
const farewellWithinMs = 2_000

export type Registration = {
  registry: string
  vendor: string
  info: MessageInitShape<typeof ServiceInfoSchema>
  log: Log
  /** The token from the gateway that started the link. */
  token?: string | undefined
  /** The certificate of the link for a gateway on another machine. */
  tls?: LinkTls | undefined
  /** Is called each time the link has been registered. */
  onRegistered?: (expireSeconds: number) => void
}

/** Returns the address field of a registration, which contains an IP address or a host name. */
export function addressInfo(host: string): MessageInitShape<typeof ServiceInfoSchema> {
  return { grpcIp: { case: isIP(host) === 0 ? 'dnsDomainname' : 'ipv4Address', value: host } }
}

/** Returns the pause until the next refresh: half of the registration's lifetime, but at most one minute. */
export function pauseMs(expireSeconds: number): number {
  return Math.max(1_000, Math.min((expireSeconds * 1_000) / 2, longestPauseMs))
}

/** Keeps a link registered until `stop` is called, and then unregisters it. */
export function keepRegistered(registration: Registration): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const running = keepOn(registration, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      if (await running) await unregister(registration)
    },
  }
}

/**
 * Refreshes the registration until the signal is aborted. Returns true when the link may still be registered. An
 * interrupted request counts too, because the registry may have processed it.
 */
async function keepOn(registration: Registration, signal: AbortSignal): Promise<boolean> {
  const { registry, log } = registration
  const backOff = new BackOff(retry)
  let isFailing = false
  let isKnown = false
  while (!signal.aborted) {
    try {
      const expireSeconds = await register(registration, signal)
      if (isFailing || !isKnown) log.info(`Registered at ${registry}.`, { expireSeconds })
      isFailing = false
      backOff.reset()
      isKnown = true
      registration.onRegistered?.(expireSeconds)
      await pause(pauseMs(expireSeconds), signal)
    } catch (error) {
      if (signal.aborted) return true
      if (!isFailing) log.warn(`Not registered at ${registry}; retrying.`, { reason: reasonOf(error) })
      isFailing = true
      await pause(backOff.nextMs(), signal)
    }
  }
  return isKnown
}

async function register({ registry, vendor, info, token, tls }: Registration, signal: AbortSignal): Promise<number> {
  const method = wireMethod(linkServices.registry.method.registerService, interfaceName(linkServices.registry, vendor))
  using client = connect(registry, tls)
  const { expireTime } = await callUnary(client, {
    method,
    request: { info },
    withinMs: answerWithinMs,
    signal,
    metadata: metadataWith(token),
  })
  return expireTime
}

async function unregister({ registry, vendor, info, log, token, tls }: Registration): Promise<void> {
  const method = wireMethod(
    linkServices.registry.method.unregisterService,
    interfaceName(linkServices.registry, vendor),
  )
  using client = connect(registry, tls)
  const metadata = metadataWith(token)
  await callUnary(client, { method, request: { info }, withinMs: farewellWithinMs, metadata }).catch((error: unknown) =>
    log.warn(`Could not unregister at ${registry}.`, { reason: reasonOf(error) }),
  )
}

function metadataWith(token: string | undefined): Metadata {
  const metadata = new Metadata()
  if (token !== undefined) metadata.set(linkTokenKey, token)
  return metadata
}

/** Opens a connection for a single call, because calls are rare and the address of the registry may change. */
function connect(address: string, tls: LinkTls | undefined): Client & Disposable {
  const client = new Client(address, registryCredentials(tls), registryOptions(tls))
  return Object.assign(client, { [Symbol.dispose]: () => client.close() })
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
