import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Log } from '@millwright/link-sdk/log.ts'
import type { Permits } from '@millwright/link-sdk/network/permits.ts'
import { timeLimit } from '@millwright/link-sdk/network/timer.ts'
import { type Reading, readDevice, readSystem, type SystemGroup } from './device.ts'
import { manufacturerOf } from './enterprises.ts'
import type { Login } from './login.ts'
import { enterpriseOfEngine } from './message-header.ts'
import { discoverEngine, Session, type SessionOptions } from './session.ts'
import { errorStatus, SnmpError } from './snmp-error.ts'

export type ReadSettings = {
  timeoutMs: number
  deviceSeconds: number
  withNeighbours: boolean
  /** The address of the network interface to send from. */
  localAddress?: string | undefined
}

export type ReadContext = { settings: ReadSettings; permits: Permits; signal: AbortSignal; log: Log }
export type Place = { address: string; port: number }

/**
 * Reads a device with the first of the logins that it accepts. Returns undefined if there is no agent at the address.
 * Throws UNAUTHENTICATED if there is an agent that accepts none of the logins.
 */
export async function readAt(
  place: Place,
  logins: readonly Login[],
  { settings, permits, signal, log }: ReadContext,
): Promise<Reading | undefined> {
  const { timeoutMs, deviceSeconds, withNeighbours, localAddress } = settings
  const reason = () => new SnmpError('limit', `could not be read within ${deviceSeconds} seconds`)
  using limit = timeLimit({ ms: deviceSeconds * 1_000, canceled: signal, reason })
  limit.start()
  const { signal: limited } = limit
  const options: SessionOptions = {
    ...place,
    localAddress,
    timeoutMs,
    permits: limit.permits(permits),
    signal: limited,
  }
  const engine = memoised(() => discoverEngine(options))
  let rejection: SnmpError | undefined
  try {
    for (const login of logins) {
      using session = new Session(login, options)
      const system = await contact(session, engine).catch(asSnmpError)
      if (!(system instanceof SnmpError)) return await readDevice(session, { system, withNeighbours, log })
      if (system.kind === 'refused') return undefined
      if (!isNextTried(system)) throw system
      if (system.kind !== 'silent') rejection = system
    }
    if (rejection !== undefined) throw rejection
    reportEngine(place, await engine())
    return undefined
  } catch (error) {
    throw error instanceof SnmpError ? deviceError(place, error) : error
  }
}

function asSnmpError(error: unknown): SnmpError {
  if (error instanceof SnmpError) return error
  throw error
}

/**
 * Reads the system group. If there is no answer, the request is repeated, and at the same time an engine discovery shows
 * whether there is an agent that allows only version 3.
 */
async function contact(session: Session, engine: () => Promise<Buffer | undefined>): Promise<SystemGroup> {
  try {
    return await readSystem(session)
  } catch (error) {
    if (!(error instanceof SnmpError && error.isTimeout)) throw error
  }
  const [system, found] = await Promise.allSettled([
    readSystem(session),
    session.version === '3' ? undefined : engine(),
  ])
  if (system.status === 'fulfilled') return system.value
  if (found.status === 'rejected') throw found.reason
  throw system.reason
}

function isNextTried({ kind, status }: SnmpError): boolean {
  return kind === 'silent' || kind === 'rejected' || status === errorStatus.authorizationError
}

function reportEngine({ address }: Place, engineId: Buffer | undefined): void {
  if (engineId === undefined) return
  const manufacturer = manufacturerOf(enterpriseOfEngine(engineId))
  const device = manufacturer === undefined ? `The device at ${address}` : `The ${manufacturer} device at ${address}`
  throw new LinkError(
    'UNAUTHENTICATED',
    `${device} has an SNMP agent of version 3, and does not accept the community. Add SNMP credentials for it.`,
  )
}

function deviceError({ address }: Place, { kind, message, status }: SnmpError): LinkError {
  const text = `The device at ${address} ${message}.`
  if (kind === 'rejected' || status === errorStatus.authorizationError) {
    return new LinkError('UNAUTHENTICATED', `${text} Check the SNMP credentials.`)
  }
  if (kind === 'faulty') {
    return new LinkError('DATA_LOSS', `${text} Its SNMP agent is faulty: update its firmware, or exclude the address.`)
  }
  if (kind === 'limit') {
    return new LinkError('OUT_OF_RANGE', `${text} Set the option device_seconds, or exclude the address.`)
  }
  if (kind === 'status') return new LinkError('FAILED_PRECONDITION', `${text} Check the views of its SNMP agent.`)
  return new LinkError('UNAVAILABLE', `${text} It answered at first, so the network or its SNMP agent is overloaded.`)
}

/** Returns the error that is reported with a device whose tables of neighbours could not be read completely. */
export function neighboursError({ address }: Pick<Place, 'address'>, { kind, message }: SnmpError): LinkError {
  const text = `The cables of the device at ${address} are not complete: while the link read the tables of neighbours, the device ${message}.`
  return kind === 'limit'
    ? new LinkError('OUT_OF_RANGE', `${text} Set the option device_seconds, or switch off the option neighbours.`)
    : new LinkError('UNAVAILABLE', `${text} Scan the device again, or switch off the option neighbours.`)
}

function memoised<Value>(create: () => Promise<Value>): () => Promise<Value> {
  let promise: Promise<Value> | undefined
  return () => {
    promise ??= create()
    return promise
  }
}
