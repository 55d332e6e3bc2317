import { type DeviceError, gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import { type DeviceDestination, isRefusal } from '../device-info/device-info.ts'
import { type Credential, type CredentialSource, redactedText } from '../job-credentials.ts'
import { isServiceError, linkErrorText } from '../link-client.ts'
import type { MappingResult } from '../mapping/asset.ts'
import { type Attempt, Attempts, isAt, targetOf } from './attempts.ts'
import type { Finding, Use } from './findings.ts'
import {
  noResponseError,
  type ProtectedDevice,
  rejectedError,
  unreadable,
  unsupported,
  withoutCredentials,
} from './protected-device.ts'
import type { ScanMessage } from './scan.ts'

type Options = {
  /** Returns an object that requests the credentials for a group of addresses. */
  newCredentials: () => CredentialSource
  /** Reads one device. The function is undefined when the link has no interface for reading one device. */
  read?: ((device: DeviceDestination, signal: AbortSignal) => Promise<MappingResult>) | undefined
  /** Starts a scan of these devices only. */
  discover: (targets: DeviceDestination[], signal: AbortSignal) => AsyncIterable<ScanMessage>
  /** Returns true when the scan has already found the device. */
  isFound: (device: MappingResult) => boolean
  signal: AbortSignal
}

/** `UnlockContext` adds the number of protected devices at each address to the options. */
type UnlockContext = Options & { devicesAt: ReadonlyMap<string, number> }

/** The maximum number of devices in one request for credentials. */
const devicesPerRequest = gatekeeperLimits.addressesPerRequest

/** The number of devices that are read concurrently. */
const concurrentReads = 8

/** The time limit of one scan that tries credentials. */
const answerMs = 10 * 60_000

/**
 * The maximum number of reported devices that are not targets. If a link reports more of them, it ignores the targets,
 * and its scan is stopped.
 */
const maxUnrelatedDevices = 100

/**
 * Reads protected devices again, with the credentials that the cloud selects for their addresses. The credentials of
 * one device are tried one at a time. The gateway then knows which credentials were accepted, and does not lock
 * accounts unnecessarily.
 *
 * If the link has the device-info or the identifiers interface, the devices are read through that interface, because
 * many links ignore targets and credentials in a scan. Otherwise the devices are the targets of a new scan.
 */
export async function* unlock(locked: readonly ProtectedDevice[], options: Options): AsyncGenerator<Finding> {
  const context = { ...options, devicesAt: countBy(locked, ({ place }) => place.address) }
  for (let from = 0; from < locked.length; from += devicesPerRequest) {
    if (context.signal.aborted) return yield { errors: locked.slice(from).map(({ error }) => error) }
    const some = locked.slice(from, from + devicesPerRequest)
    using credentials = context.newCredentials()
    let credentialsByAddress: Map<string, Credential[]>
    try {
      credentialsByAddress = await credentials.ask(some.map(({ place }) => place.address))
    } catch (error) {
      // The error also applies to the remaining devices, because the permission is denied or the connection is lost.
      const why = error instanceof Problem ? error.title : 'the platform is not reachable'
      return yield { errors: locked.slice(from).map((one) => withoutCredentials(one, why)) }
    }
    const { read } = context
    if (read === undefined) yield* scanSome(some, credentialsByAddress, context)
    else yield* readSome(some, credentialsByAddress, { ...context, read })
  }
}

type CredentialsByAddress = ReadonlyMap<string, readonly Credential[]>
type ReadContext = UnlockContext & { read: NonNullable<Options['read']> }

async function* readSome(
  some: readonly ProtectedDevice[],
  credentialsByAddress: CredentialsByAddress,
  reading: ReadContext,
): AsyncGenerator<Finding> {
  for (let from = 0; from < some.length; from += concurrentReads) {
    const part = some.slice(from, from + concurrentReads)
    const findings = await Promise.all(
      part.map((one) => readOne(one, credentialsByAddress.get(one.place.address) ?? [], reading)),
    )
    yield* findings
  }
}

/** Tries the credentials of one device one after the other, until the device can be read. */
async function readOne(
  locked: ProtectedDevice,
  credentials: readonly Credential[],
  reading: ReadContext,
): Promise<Finding> {
  const { read, devicesAt, signal } = reading
  const uses: Use[] = []
  let failure: { code: number; reason: string } | undefined
  for (const credential of credentials) {
    const attempt = { locked, credential }
    try {
      return openedFinding(attempt, await read(targetOf(attempt), signal), { devicesAt, uses })
    } catch (error) {
      if (signal.aborted) return { errors: [locked.error], uses }
      if (isRefusal(error)) uses.push(useOf(attempt, false))
      else {
        const code: number = isServiceError(error) ? error.code : Code.UNKNOWN
        failure = { code, reason: redact(linkErrorText(error), attempt) }
        // A device that does not respond in time does not respond to other credentials either.
        if (code === Code.DEADLINE_EXCEEDED) break
      }
    }
  }
  return { errors: [failure === undefined ? rejectedError(locked, uses.length) : unreadable(locked, failure)], uses }
}

type OpenedDevice = { devicesAt: UnlockContext['devicesAt']; uses: Use[] }

function openedFinding(attempt: Attempt, mapped: MappingResult, { devicesAt, uses }: OpenedDevice): Required<Finding> {
  const { address } = attempt.locked.place
  const use = useOf(attempt, true)
  const isOwn = isAt(address, mapped, { isAlone: devicesAt.get(address) === 1 })
  return {
    devices: [{ mapped, address, ...(isOwn ? { use } : {}) }],
    errors: [],
    uses: isOwn ? uses : [...uses, use],
  }
}

async function* scanSome(
  some: readonly ProtectedDevice[],
  credentialsByAddress: CredentialsByAddress,
  context: UnlockContext,
): AsyncGenerator<Finding> {
  let left = some
  for (let refused = 0; left.length > 0; refused += 1) {
    const nextFor = ({ place }: ProtectedDevice) => credentialsByAddress.get(place.address)?.[refused]
    yield { errors: left.filter((one) => nextFor(one) === undefined).map((one) => rejectedError(one, refused)) }
    const attempts = left.flatMap((one): Attempt[] => {
      const credential = nextFor(one)
      return credential === undefined ? [] : [{ locked: one, credential }]
    })
    left = attempts.length === 0 ? [] : yield* tryAll(attempts, context)
  }
}

/**
 * Tries the credentials in one scan of the devices. Yields the findings, and returns the devices that rejected their
 * credentials.
 */
async function* tryAll(all: readonly Attempt[], context: UnlockContext): AsyncGenerator<Finding, ProtectedDevice[]> {
  const { discover, signal } = context
  const attempts = new Attempts(all)
  const refused: Attempt[] = []
  const enough = new AbortController()
  let unrelatedDevices = 0
  let ignoresTargets = false
  let trouble: unknown
  try {
    const ending = AbortSignal.any([signal, enough.signal, AbortSignal.timeout(answerMs)])
    for await (const message of discover(all.map(targetOf), ending)) {
      const read = readAnswer(message, attempts, context)
      refused.push(...read.refused)
      unrelatedDevices += read.unrelatedDevices
      ignoresTargets ||= read.hasKnownDevices
      if (unrelatedDevices > maxUnrelatedDevices) enough.abort()
      yield read.finding
    }
  } catch (error) {
    trouble = error
  }
  const { unanswered } = attempts
  if (ignoresTargets && trouble === undefined && !signal.aborted) {
    yield { errors: [...refused, ...unanswered].map(({ locked }) => unsupported(locked)) }
    return []
  }
  yield {
    errors: unanswered.map((one) => unansweredError(one, { trouble, isCanceled: signal.aborted })),
    uses: refused.map((one) => useOf(one, false)),
  }
  return refused.map(({ locked }) => locked)
}

type Answer = { finding: Required<Finding>; refused: Attempt[]; unrelatedDevices: number; hasKnownDevices: boolean }

function readAnswer(
  { devices, errors }: ScanMessage,
  attempts: Attempts,
  { devicesAt, isFound }: UnlockContext,
): Answer {
  const read: Answer = {
    finding: { devices: [], errors: [], uses: [] },
    refused: [],
    unrelatedDevices: 0,
    hasKnownDevices: false,
  }
  const { finding } = read
  for (const device of devices) {
    const { mapped } = device
    const made = attempts.ofDevice(device)
    if (made === undefined) {
      read.unrelatedDevices += 1
      // The device is not reported again, because the first scan has already reported it.
      if (isFound(mapped)) read.hasKnownDevices = true
      else finding.devices.push({ mapped })
      continue
    }
    const opened = openedFinding(made, mapped, { devicesAt, uses: [] })
    finding.devices.push(...opened.devices)
    finding.uses.push(...opened.uses)
  }
  for (const reported of errors) {
    const made = attempts.ofError(reported)
    // The error belongs to another device, and the first scan has already reported it.
    if (made === undefined) continue
    const { code, description } = reported.error
    if (code === Code.UNAUTHENTICATED) read.refused.push(made)
    else finding.errors.push({ ...made.locked.error, code, description: redact(description, made) })
  }
  return read
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return counts
}

function useOf({ locked, credential }: Attempt, worked: boolean): Use {
  return { address: locked.place.address, instanceId: credential.instanceId, worked }
}

type ScanEnd = { trouble: unknown; isCanceled: boolean }

function unansweredError(one: Attempt, { trouble, isCanceled }: ScanEnd): DeviceError {
  if (isCanceled) return one.locked.error
  if (trouble === undefined) return noResponseError(one.locked)
  const description = `The asset link could not read the device with credentials: ${redact(linkErrorText(trouble), one)}`
  return { ...one.locked.error, code: Code.UNAVAILABLE, description: description.slice(0, 4_000) }
}

/** Returns the text of a link, or a replacement if the text contains a part of the credentials. */
function redact(text: string, { credential }: Attempt): string {
  return credential.secret.isIn(text) ? redactedText : text
}
