import { type DeviceError, gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import { type Credential, type JobCredentials, leftOut } from '../job-credentials.ts'
import { linkTrouble } from '../link-client.ts'
import type { Finding, Use } from './findings.ts'
import { type Locked, silent, stillLocked, withoutCredentials } from './locked.ts'
import type { Found, Target } from './scan.ts'
import { isAt, Tries, type Try, targetOf } from './tries.ts'

type Options = {
  /** Credentials of the job, for as many devices as are asked at once. */
  newCredentials: () => JobCredentials
  /** Has the link look at these devices alone. */
  discover: (targets: Target[], signal: AbortSignal) => AsyncIterable<Found>
  signal: AbortSignal
}

/** With how many protected devices there are at each address. */
type Unlocking = Options & { devicesAt: ReadonlyMap<string, number> }

/** Devices that are asked in one request. */
const atOnce = gatekeeperLimits.addressesPerRequest

/** What a link may take for the devices of one request. */
const answerMs = 10 * 60_000

/** A link that answers with so many devices that nobody asked for looks everywhere, and would do so again and again. */
const strangersTaken = 100

/**
 * Asks protected devices once more, with the credentials that the cloud chooses for their addresses: those of each
 * device one after the other, so that it is known which were right, and nobody is locked out by what is not needed.
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
      // Whoever refuses, or is away, is not asked again for each part.
      const why = error instanceof Problem ? error.title : 'the cloud cannot be reached'
      return yield { errors: locked.slice(from).map((one) => withoutCredentials(one, why)) }
    }
    yield* unlockSome(some, chosen, unlocking)
  }
}

type Chosen = ReadonlyMap<string, readonly Credential[]>

async function* unlockSome(some: readonly Locked[], chosen: Chosen, unlocking: Unlocking): AsyncGenerator<Finding> {
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

/** Answers the devices that refused; whatever else came of a device is handed on. */
async function* tryAll(all: readonly Try[], unlocking: Unlocking): AsyncGenerator<Finding, Locked[]> {
  const { discover, devicesAt, signal } = unlocking
  const tries = new Tries(all)
  const refused: Try[] = []
  const enough = new AbortController()
  let strangers = 0
  let trouble: unknown
  try {
    const ending = AbortSignal.any([signal, enough.signal, AbortSignal.timeout(answerMs)])
    for await (const found of discover(all.map(targetOf), ending)) {
      const read = readAnswer(found, tries, devicesAt)
      refused.push(...read.refused)
      strangers += read.strangers
      if (strangers > strangersTaken) enough.abort()
      yield read.finding
    }
  } catch (error) {
    trouble = error
  }
  yield { errors: tries.unanswered.map((one) => unansweredError(one, { trouble, isCanceled: signal.aborted })) }
  return refused.map(({ locked }) => locked)
}

type Answer = { finding: Required<Finding>; refused: Try[]; strangers: number }

function readAnswer({ devices, errors }: Found, tries: Tries, devicesAt: Unlocking['devicesAt']): Answer {
  const read: Answer = { finding: { devices: [], errors: [], uses: [] }, refused: [], strangers: 0 }
  const { finding } = read
  for (const device of devices) {
    const { mapped } = device
    const made = tries.ofDevice(device)
    if (made === undefined) {
      read.strangers += 1
      finding.devices.push({ mapped })
      continue
    }
    const { address } = made.locked.place
    const isOwn = isAt(address, mapped, { isAlone: devicesAt.get(address) === 1 })
    finding.devices.push({ mapped, ...(isOwn ? { use: useOf(made, true) } : {}) })
    if (!isOwn) finding.uses.push(useOf(made, true))
  }
  for (const found of errors) {
    const made = tries.ofError(found)
    // Of what nobody asked for, the scan itself has told before.
    if (made === undefined) continue
    const { code, description } = found.error
    if (code === Code.UNAUTHENTICATED) {
      read.refused.push(made)
      finding.uses.push(useOf(made, false))
    } else finding.errors.push({ ...made.locked.error, code, description: toldOf(description, made) })
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
