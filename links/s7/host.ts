import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { timeLimit } from '@millwright/link-sdk/network/timer.ts'
import { connectTo, type S7Connection, S7Error } from './device.ts'
import type { ScanOptions } from './options.ts'
import { listIds, type Nameplate, nameplateOf, operatingModeOf } from './system-status-list.ts'

/** `Host` is the controller that answered at one IP address and port. */
export type Host = {
  cpu: Module
  /** The other modules that answered. */
  modules: readonly Module[]
  /** The reason why modules were not read. */
  problem?: LinkError
}

/** `Module` is a module that answered. Its nameplate is empty if the module does not return its identification. */
export type Module = {
  rack: number
  slot: number
  nameplate: Nameplate
  /** The maximum length of messages of the module. */
  messageBytes: number
  operatingMode?: string | undefined
}

type Scan = Pick<ScanOptions, 'rack' | 'slots' | 'moduleSlots' | 'connectionType' | 'deviceSeconds'> & {
  /** Whether the operating mode of the CPU is read. */
  withMode?: boolean
}

/** The number of slots with the nameplate of the CPU after which the controller counts as one that ignores slots. */
const enoughEqualSlots = 2

/**
 * Reads the controller at an IP address and port, and the modules in its rack. Each module needs its own connection, and
 * only one connection is open at a time. Returns undefined if the port is silent. Throws an `S7Error` if the port accepts
 * connections, but no slot gives an S7 answer.
 */
export async function readHost(at: ContactOptions, scan: Scan): Promise<Host | undefined> {
  const tooSlow = new LinkError(
    'OUT_OF_RANGE',
    `${at.address} port ${at.port} could not be read within ${scan.deviceSeconds} seconds. Set the option device_seconds, limit module_slots, or exclude the address.`,
  )
  using limit = timeLimit({ ms: scan.deviceSeconds * 1_000, canceled: at.signal, reason: () => tooSlow })
  const limited = { ...at, signal: limit.signal, permits: limit.permits(at.permits) }
  const reader = new ModuleReader({ at: limited, scan, onConnected: limit.start })
  const cpu = await reader.readCpu()
  if (cpu === undefined) return undefined
  const modules: Module[] = []
  try {
    await reader.readModules(cpu, modules)
  } catch (error) {
    if (error === tooSlow) return { cpu, modules, problem: tooSlow }
    throw error
  }
  return { cpu, modules }
}

const reactions = {
  refused: 'refuses',
  closed: 'closes',
  'no answer': 'does not answer to',
  'not s7': 'gives wrong answers to',
} as const

type ReaderOptions = { at: ContactOptions; scan: Scan; onConnected: () => void }

/** `ModuleReader` reads the modules of one controller. */
class ModuleReader {
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** Reads the first slot that answers. Returns undefined if the port accepts no connection. */
  async readCpu(): Promise<Module | undefined> {
    const { scan } = this.#options
    const errors: S7Error[] = []
    for (const slot of scan.slots) {
      try {
        const cpu = await this.#read(slot, scan.withMode)
        if (cpu !== undefined) return cpu
        if (errors.length === 0) return undefined
        break
      } catch (error) {
        // A port that does not speak S7 receives no further connection.
        if (!(error instanceof S7Error) || error.fault === 'not s7') throw error
        errors.push(error)
      }
    }
    throw this.#summaryOf(errors)
  }

  /** Adds the modules that answer. Ends early if the controller ignores slots. */
  async readModules(cpu: Module, modules: Module[]): Promise<void> {
    let equal = 0
    for (const slot of this.#options.scan.moduleSlots) {
      if (slot === cpu.slot) continue
      const module = await this.#tryRead(slot)
      if (module === undefined) continue
      const isKnown = (one: Module) => module.nameplate.serialNumber !== undefined && hasSameNameplate(one, module)
      if (hasSameNameplate(module, cpu)) equal += 1
      else if (!modules.some(isKnown)) modules.push(module)
      if (equal === enoughEqualSlots) return
    }
  }

  /** Returns one error for all slots, if all of them failed for the same reason, or the error of the last slot. */
  #summaryOf(errors: readonly S7Error[]): S7Error | undefined {
    const [first, ...others] = errors
    if (first === undefined || others.length === 0 || others.some(({ fault }) => fault !== first.fault))
      return errors.at(-1)
    const { at, scan } = this.#options
    const slots = scan.slots.slice(0, errors.length).join(', ')
    const text = `${at.address} port ${at.port} ${reactions[first.fault]} S7 connections to rack ${scan.rack}, slots ${slots}. Set the options rack, slots, connection_type and timeout_ms, or exclude the address.`
    return new S7Error(first.fault, text)
  }

  /** Reads a module. Returns undefined for a slot that is empty, or whose module does not communicate. */
  async #tryRead(slot: number): Promise<Module | undefined> {
    try {
      return await this.#read(slot)
    } catch (error) {
      if (error instanceof S7Error) return undefined
      throw error
    }
  }

  /** Reads the module in a slot. Returns undefined if the port accepts no connection. */
  async #read(slot: number, withMode = false): Promise<Module | undefined> {
    const { at, scan, onConnected } = this.#options
    const { rack, connectionType } = scan
    await using connection = await connectTo(at)
    if (connection === undefined) return undefined
    onConnected()
    const messageBytes = await connection.open({ rack, slot, connectionType })
    const lists = await readLists(connection, withMode ? [...identification, listIds.operatingMode] : identification)
    const nameplate = nameplateOf(lists)
    return { rack, slot, nameplate, messageBytes, operatingMode: operatingModeOf(lists) }
  }
}

const identification = [listIds.moduleIdentification, listIds.componentIdentification] as const

/** Reads lists. If the module stops answering, the result contains the lists that were read before. */
async function readLists(connection: S7Connection, ids: readonly number[]): Promise<Map<number, Buffer>> {
  const lists = new Map<number, Buffer>()
  try {
    for (const id of ids) {
      const list = await connection.readList(id)
      if (list !== undefined) lists.set(id, list)
    }
  } catch (error) {
    if (!(error instanceof S7Error) || lists.size === 0) throw error
  }
  return lists
}

function hasSameNameplate(one: Module, other: Module): boolean {
  return JSON.stringify(one.nameplate) === JSON.stringify(other.nameplate)
}
