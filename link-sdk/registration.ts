import { isIP } from 'node:net'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Client, credentials } from '@grpc/grpc-js'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { interfaceName, linkServices, wireMethod } from '@millwright/api/link-protocol.ts'
import type { ServiceInfoSchema } from '@millwright/api/proto/generated/registry_pb.js'
import { callUnary } from './call.ts'
import type { Log } from './log.ts'

/** Refreshed in time, even where the registry forgets late: a registry that was restarted knows the link a minute later. */
const longestPauseMs = 60_000
const retry = { firstMs: 1_000, longestMs: 30_000 } as const
const answerWithinMs = 10_000
const farewellWithinMs = 2_000

export type Registration = {
  registry: string
  vendor: string
  info: MessageInitShape<typeof ServiceInfoSchema>
  log: Log
  /** Told once the registry knows the link. */
  onRegistered?: (expireSeconds: number) => void
}

/** What the address of a link is on the wire: a name, unless it is an IP address. */
export function addressInfo(host: string): MessageInitShape<typeof ServiceInfoSchema> {
  return { grpcIp: { case: isIP(host) === 0 ? 'dnsDomainname' : 'ipv4Address', value: host } }
}

/** Half of what the registry grants, and at most a minute. */
export function pauseMs(expireSeconds: number): number {
  return Math.max(1_000, Math.min((expireSeconds * 1_000) / 2, longestPauseMs))
}

/** Keeps a link known to a registry until it is stopped; then takes it out. */
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

/** Says whether the registry may know the link at the end: one that was broken off may have been heard. */
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
      if (!isFailing) log.warn(`Not registered at ${registry}; trying again.`, { reason: reasonOf(error) })
      isFailing = true
      await pause(backOff.nextMs(), signal)
    }
  }
  return isKnown
}

async function register({ registry, vendor, info }: Registration, signal: AbortSignal): Promise<number> {
  const method = wireMethod(linkServices.registry.method.registerService, interfaceName(linkServices.registry, vendor))
  using client = connect(registry)
  const { expireTime } = await callUnary(client, { method, request: { info }, withinMs: answerWithinMs, signal })
  return expireTime
}

async function unregister({ registry, vendor, info, log }: Registration): Promise<void> {
  const method = wireMethod(
    linkServices.registry.method.unregisterService,
    interfaceName(linkServices.registry, vendor),
  )
  using client = connect(registry)
  await callUnary(client, { method, request: { info }, withinMs: farewellWithinMs }).catch((error: unknown) =>
    log.warn(`Could not be taken out of the registry at ${registry}.`, { reason: reasonOf(error) }),
  )
}

/** A connection for each call: minutes lie between two, and a registry may move in the meantime. */
function connect(address: string): Client & Disposable {
  const client = new Client(address, credentials.createInsecure())
  return Object.assign(client, { [Symbol.dispose]: () => client.close() })
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
