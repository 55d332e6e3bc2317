import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { timeLimit } from '@millwright/link-sdk/network/timer.ts'
import { connectTo } from './connection.ts'
import { listIdentityByUdp } from './datagram.ts'
import { completed, type Details, isIncomplete, readDetails, readIdentity } from './device.ts'
import { EthernetIpError } from './ethernet-ip-error.ts'
import type { Identity, ListedIdentity } from './message.ts'
import type { ScanOptions } from './options.ts'
import { ObjectReader } from './reader.ts'

/** `Host` is the device that answered at one IP address and port. */
export type Host = {
  identity: ListedIdentity
  details: Details
  /** The slot of the device, if it was found among its slots. */
  slot?: number
  /** The modules in the other slots. */
  modules: readonly Module[]
  /** The reason why slots were not read. */
  problem?: LinkError
}

export type Module = { slot: number; identity: Identity }

type Scan = Pick<ScanOptions, 'usesUdp' | 'usesTcp' | 'readsDetails' | 'slots' | 'deviceSeconds'>

/** The number of slots with the identity of the device after which the device counts as one that ignores slots. */
const enoughEqualSlots = 2

/**
 * Reads the device at an IP address and port, and the modules in its slots. Returns undefined if the address is silent.
 * Throws an `EthernetIpError` if it answers, but not with an identity.
 */
export async function readHost(at: ContactOptions, scan: Scan): Promise<Host | undefined> {
  const tooSlow = new LinkError(
    'OUT_OF_RANGE',
    `${at.address} port ${at.port} could not be read within ${scan.deviceSeconds} seconds. Set the option device_seconds, limit slots, or exclude the address.`,
  )
  using limit = timeLimit({ ms: scan.deviceSeconds * 1_000, canceled: at.signal, reason: () => tooSlow })
  const limited = { ...at, signal: limit.signal, permits: limit.permits(at.permits) }
  const { identity: listed, fault } = scan.usesUdp ? await listByUdp(limited) : {}
  if (listed !== undefined) limit.start()
  const needsTcp = listed === undefined || scan.readsDetails || scan.slots.length > 0 || isIncomplete(listed)
  if (!scan.usesTcp || !needsTcp) return withoutConnection(listed, fault)
  const connection = await connectTo(limited)
  if (connection === undefined) return withoutConnection(listed, fault, unreadSlots(at, scan))
  using reader = new ObjectReader(connection, limited)
  limit.start()
  const host: Host = { identity: listed ?? (await connection.listIdentity()), details: {}, modules: [] }
  try {
    await readOwnObjects(host, reader, scan)
    await readModules(host, reader, scan.slots)
  } catch (error) {
    if (error === tooSlow) host.problem = tooSlow
    else if (error instanceof EthernetIpError) host.problem = error
    else throw error
  }
  return host
}

type ListResult = { identity?: ListedIdentity | undefined; fault?: EthernetIpError }

async function listByUdp(at: ContactOptions): Promise<ListResult> {
  try {
    return { identity: await listIdentityByUdp(at) }
  } catch (error) {
    if (error instanceof EthernetIpError) return { fault: error }
    throw error
  }
}

function withoutConnection(
  identity: ListedIdentity | undefined,
  fault: EthernetIpError | undefined,
  problem?: LinkError,
): Host | undefined {
  if (identity !== undefined)
    return { identity, details: {}, modules: [], ...(problem === undefined ? {} : { problem }) }
  if (fault !== undefined) throw fault
  return undefined
}

function unreadSlots({ address, port }: ContactOptions, { slots }: Scan): LinkError | undefined {
  if (slots.length === 0) return undefined
  const text = `${address} accepts no connection at TCP port ${port}, so the modules in its slots were not read. Allow this port in the firewall, or scan without the option slots.`
  return new LinkError('UNAVAILABLE', text)
}

/** Adds the identity object, if the identity is incomplete, and the details. A device need not have these objects. */
async function readOwnObjects(host: Host, reader: ObjectReader, { readsDetails }: Scan): Promise<void> {
  try {
    if (isIncomplete(host.identity)) host.identity = completed(host.identity, await readIdentity(reader))
  } catch (error) {
    if (!(error instanceof EthernetIpError)) throw error
  }
  try {
    if (readsDetails) host.details = await readDetails(reader)
  } catch (error) {
    if (!(error instanceof EthernetIpError)) throw error
  }
}

/** Adds the modules in the slots. A slot without a module is refused or not answered. Ends early without a backplane. */
async function readModules(host: Host, reader: ObjectReader, slots: readonly number[]): Promise<void> {
  const modules: Module[] = []
  host.modules = modules
  let equal = 0
  for (const slot of slots) {
    try {
      const identity = await readIdentity(reader, slot)
      if (!isSame(identity, host.identity)) modules.push({ slot, identity })
      else {
        host.slot ??= slot
        equal += 1
      }
      if (equal === enoughEqualSlots) return
    } catch (error) {
      const isEmpty = error instanceof EthernetIpError && (error.fault === 'refused' || error.fault === 'no answer')
      if (!isEmpty) throw error
      if (error.isWithoutBackplane) return
    }
  }
}

function isSame(one: Identity, other: Identity): boolean {
  const keys = ['vendorId', 'deviceType', 'productCode', 'serialNumber'] as const
  return keys.every((key) => one[key] === other[key])
}
