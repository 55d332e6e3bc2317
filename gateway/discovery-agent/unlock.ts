import { type DeviceError, gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import { type DeviceDestination, isRefusal } from '../device-info/device-info.ts'
import { type Credential, type JobCredentials, leftOut } from '../job-credentials.ts'
import { isServiceError, linkTrouble } from '../link-client.ts'
import type { Mapped } from '../mapping/asset.ts'
import type { Finding, Use } from './findings.ts'
import { type Locked, silent, stillLocked, unreadable, unsupported, withoutCredentials } from './locked.ts'
import type { Found } from './scan.ts'
import { isAt, Tries, type Try, targetOf } from './tries.ts'

type Options = {
  /** Credentials of the job, for as many devices as are asked at once. */
  newCredentials: () => JobCredentials
  /** Reads one device; absent when the link has no interface for it. */
  read?: ((device: DeviceDestination, signal: AbortSignal) => Promise<Mapped>) | undefined
  /** Has the link scan these devices only. */
  discover: (targets: DeviceDestination[], signal: AbortSignal) => AsyncIterable<Found>
  /** Whether the scan has found the device before. */
  isFound: (device: Mapped) => boolean
  signal: AbortSignal
}

/** With how many protected devices there are at each address. */
type Unlocking = Options & { devicesAt: ReadonlyMap<string, number> }

/** Devices that are asked in one request. */
const atOnce = gatekeeperLimits.addressesPerRequest

/** Devices that are read at the same time. */
const readAtOnce = 8

/** The time limit for the devices of one request. */
const answerMs = 10 * 60_000

/** A link that answers with more devices outside its targets scans everything, and would do so again and again. */
const strangersTaken = 100

/**
 * Asks protected devices once more, with the credentials that the cloud chooses for their addresses. The credentials of
 * one device are tried one after the other, so that the working ones are known and no account is locked needlessly.
 *
 * A link with the device-info or the identifiers interface reads the devices through it: many links ignore targets and
 * credentials in a scan. Other links scan the devices as targets.
 */
export async function* unlock(locked: readonly Locked[], options: Options): AsyncGenerator<Finding> {
  const unlocking = { ...options, devicesAt: countBy(locked, ({ place }) => place.address) }
  for (let from = 0; from < locked.length; from += atOnce) {
    if (unlocking.signal.aborted) return yield { errors: locked.slice(from).map(({ error }) => error) }
    const some = locked.slice(from, from + atOnce)
    using credentials = unlocking.newCredentials()
    let chosen: Map<string, Credential[]>
    try {
      chosen = await credentials.ask(some.map(({ place }) => place.address))
    } catch (error) {
      // A refusal, or a line that is down, holds for the remaining devices as well.
      const why = error instanceof Problem ? error.title : 'the cloud cannot be reached'
      return yield { errors: locked.slice(from).map((one) => withoutCredentials(one, why)) }
    }
    const { read } = unlocking
    if (read === undefined) yield* scanSome(some, chosen, unlocking)
    else yield* readSome(some, chosen, { ...unlocking, read })
  }
}

type Chosen = ReadonlyMap<string, readonly Credential[]>
type Reading = Unlocking & { read: NonNullable<Options['read']> }

async function* readSome(some: readonly Locked[], chosen: Chosen, reading: Reading): AsyncGenerator<Finding> {
  for (let from = 0; from < some.length; from += readAtOnce) {
    const part = some.slice(from, from + readAtOnce)
    const findings = await Promise.all(part.map((one) => readOne(one, chosen.get(one.place.address) ?? [], reading)))
    yield* findings
  }
}

/** Tries the credentials of one device until it can be read. */
async function readOne(locked: Locked, credentials: readonly Credential[], reading: Reading): Promise<Finding> {
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
        failure = { code, reason: toldOf(linkTrouble(error), attempt) }
        // A device that does not answer in time does not answer the next credentials either.
        if (code === Code.DEADLINE_EXCEEDED) break
      }
    }
  }
  return { errors: [failure === undefined ? stillLocked(locked, uses.length) : unreadable(locked, failure)], uses }
}

type Opening = { devicesAt: Unlocking['devicesAt']; uses: Use[] }

function openedFinding(attempt: Try, mapped: Mapped, { devicesAt, uses }: Opening): Required<Finding> {
  const { address } = attempt.locked.place
  const use = useOf(attempt, true)
  const isOwn = isAt(address, mapped, { isAlone: devicesAt.get(address) === 1 })
  return {
    devices: [{ mapped, ...(isOwn ? { use } : {}) }],
    errors: [],
    uses: isOwn ? uses : [...uses, use],
  }
}

async function* scanSome(some: readonly Locked[], chosen: Chosen, unlocking: Unlocking): AsyncGenerator<Finding> {
  let left = some
  for (let refused = 0; left.length > 0; refused += 1) {
    const nextFor = ({ place }: Locked) => chosen.get(place.address)?.[refused]
    yield { errors: left.filter((one) => nextFor(one) === undefined).map((one) => stillLocked(one, refused)) }
    const tries = left.flatMap((one): Try[] => {
      const credential = nextFor(one)
      return credential === undefined ? [] : [{ locked: one, credential }]
    })
    left = tries.length === 0 ? [] : yield* tryAll(tries, unlocking)
  }
}

/** Returns the devices that refused their credentials; yields everything else that the link says about devices. */
async function* tryAll(all: readonly Try[], unlocking: Unlocking): AsyncGenerator<Finding, Locked[]> {
  const { discover, signal } = unlocking
  const tries = new Tries(all)
  const refused: Try[] = []
  const enough = new AbortController()
  let strangers = 0
  let ignoresTargets = false
  let trouble: unknown
  try {
    const ending = AbortSignal.any([signal, enough.signal, AbortSignal.timeout(answerMs)])
    for await (const found of discover(all.map(targetOf), ending)) {
      const read = readAnswer(found, tries, unlocking)
      refused.push(...read.refused)
      strangers += read.strangers
      ignoresTargets ||= read.hasKnownDevices
      if (strangers > strangersTaken) enough.abort()
      yield read.finding
    }
  } catch (error) {
    trouble = error
  }
  const { unanswered } = tries
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

type Answer = { finding: Required<Finding>; refused: Try[]; strangers: number; hasKnownDevices: boolean }

function readAnswer({ devices, errors }: Found, tries: Tries, { devicesAt, isFound }: Unlocking): Answer {
  const read: Answer = {
    finding: { devices: [], errors: [], uses: [] },
    refused: [],
    strangers: 0,
    hasKnownDevices: false,
  }
  const { finding } = read
  for (const device of devices) {
    const { mapped } = device
    const made = tries.ofDevice(device)
    if (made === undefined) {
      read.strangers += 1
      // The first pass has counted it.
      if (isFound(mapped)) read.hasKnownDevices = true
      else finding.devices.push({ mapped })
      continue
    }
    const opened = openedFinding(made, mapped, { devicesAt, uses: [] })
    finding.devices.push(...opened.devices)
    finding.uses.push(...opened.uses)
  }
  for (const found of errors) {
    const made = tries.ofError(found)
    // The first pass has reported errors of other devices.
    if (made === undefined) continue
    const { code, description } = found.error
    if (code === Code.UNAUTHENTICATED) read.refused.push(made)
    else finding.errors.push({ ...made.locked.error, code, description: toldOf(description, made) })
  }
  return read
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return counts
}

function useOf({ locked, credential }: Try, worked: boolean): Use {
  return { address: locked.place.address, instanceId: credential.instanceId, worked }
}

type End = { trouble: unknown; isCanceled: boolean }

function unansweredError(one: Try, { trouble, isCanceled }: End): DeviceError {
  if (isCanceled) return one.locked.error
  if (trouble === undefined) return silent(one.locked)
  const description = `The link could not ask the device with credentials: ${toldOf(linkTrouble(trouble), one)}`
  return { ...one.locked.error, code: Code.UNAVAILABLE, description: description.slice(0, 4_000) }
}

/** What a link says, unless it gives away what it was told. */
function toldOf(text: string, { credential }: Try): string {
  return credential.secret.isIn(text) ? leftOut : text
}
