import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { timeLimit } from '@millwright/link-sdk/network/timer.ts'
import { type Nameplate, nameplateOf, textOf } from './asset.ts'
import { connectTo, type ModbusConnection, ModbusError } from './device.ts'
import type { ScanOptions } from './options.ts'

/** `Host` is what answered at one IP address and port. */
export type Host = {
  /** The nameplate of the device with this IP address. It is empty for a device without identification. */
  nameplate: Nameplate
  /** The unit id with which the device answered. */
  unit: number
  /** The identified units behind the device, if it is a gateway. */
  units: readonly IdentifiedUnit[]
  /** The reason why units behind the device were not read. */
  problem?: LinkError
}

type IdentifiedUnit = { unit: number; nameplate: Nameplate }

type Answer = { unit: number; nameplate: Nameplate } | { unit: number; error: ModbusError }
type Scan = Pick<ScanOptions, 'unitIds' | 'gatewayUnits' | 'category' | 'reportsServerId' | 'deviceSeconds'>

/** The number of units with the nameplate of the device after which the device counts as one that ignores unit ids. */
const enoughEqualUnits = 2

/**
 * Reads the device at an IP address and port, and the units behind it. Returns undefined if the port is silent. Throws a
 * `ModbusError` if the port accepts connections, but no unit gives a Modbus answer.
 */
export async function readHost(at: ContactOptions, scan: Scan): Promise<Host | undefined> {
  const tooSlow = new LinkError(
    'OUT_OF_RANGE',
    `${at.address} port ${at.port} could not be read within ${scan.deviceSeconds} seconds. Set the option device_seconds, limit gateway_units, or exclude the address.`,
  )
  using limit = timeLimit({ ms: scan.deviceSeconds * 1_000, canceled: at.signal, reason: () => tooSlow })
  const limited = { ...at, signal: limit.signal, permits: limit.permits(at.permits) }
  const connection = await connectTo(limited)
  if (connection === undefined) return undefined
  limit.start()
  using reader = new UnitReader(connection, { at: limited, scan })
  const answers: Answer[] = []
  for (const unit of scan.unitIds) {
    const answer = await reader.read(unit)
    answers.push(answer)
    if ('nameplate' in answer) break
  }
  const problem = await reader.readGatewayUnits(answers, scan.gatewayUnits).then(
    () => undefined,
    (error: unknown) => error,
  )
  const host = hostOf(answers)
  if (problem === tooSlow && host !== undefined) return { ...host, problem: tooSlow }
  if (problem !== undefined) throw problem
  return host ?? { ...(await reader.readWithoutIdentification(answers)), units: [] }
}

/** Whether a unit id means the device itself, and not a unit on the serial line of a gateway. */
function isDeviceUnit(unit: number): boolean {
  return unit === 0 || unit === 255
}

/**
 * Decides which answers are from the device itself, and which are from units behind it. A device that gives the same
 * answer for 255 and for other ids ignores unit ids. A single unit id that answers is the id of the device, unless a
 * gateway answered for another id. Returns undefined if no unit is identified.
 */
function hostOf(answers: readonly Answer[]): Host | undefined {
  const identified = answers.filter((answer) => 'nameplate' in answer)
  const device = identified.find(({ unit }) => isDeviceUnit(unit))
  const units = identified.filter(({ unit, nameplate }) => !isDeviceUnit(unit) && !isEqual(nameplate, device))
  const isGateway = answers.some((answer) => 'error' in answer && answer.error.isFromGateway)
  if (device !== undefined) return { ...device, units }
  const [first, ...others] = units
  if (first === undefined) return undefined
  if (others.length === 0 && !isGateway) return { ...first, units: [] }
  return { nameplate: {}, unit: 255, units }
}

function isEqual(nameplate: Nameplate, device: IdentifiedUnit | undefined): boolean {
  return JSON.stringify(nameplate) === JSON.stringify(device?.nameplate)
}

/** `UnitReader` reads units over one connection. It opens another one when the device closes the connection. */
class UnitReader implements Disposable {
  readonly #at: ContactOptions
  readonly #scan: Scan
  #connection: ModbusConnection

  constructor(connection: ModbusConnection, { at, scan }: { at: ContactOptions; scan: Scan }) {
    this.#connection = connection
    this.#at = at
    this.#scan = scan
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]()
  }

  read(unit: number): Promise<Answer> {
    return this.#try(unit, async (connection) =>
      nameplateOf(await connection.readIdentification(unit, this.#scan.category)),
    )
  }

  /** Adds the answers of the units behind a gateway. Ends early if the device ignores unit ids. */
  async readGatewayUnits(answers: Answer[], units: readonly number[]): Promise<void> {
    const device = answers.find((answer) => 'nameplate' in answer && isDeviceUnit(answer.unit))
    let equal = 0
    for (const unit of units) {
      if (answers.some((answer) => answer.unit === unit)) continue
      const answer = await this.read(unit)
      answers.push(answer)
      if (device !== undefined && 'nameplate' in device && 'nameplate' in answer && isEqual(answer.nameplate, device))
        equal += 1
      if (equal === enoughEqualUnits) return
    }
  }

  /** Returns the unit that answered with an exception. Throws an error if none answered. */
  async readWithoutIdentification(answers: readonly Answer[]): Promise<IdentifiedUnit> {
    const errors = answers.flatMap((answer) => ('error' in answer ? [answer] : []))
    const answering = errors.find(({ error }) => error.fault === 'exception' && !error.isFromGateway)
    if (answering === undefined) {
      if (errors.some(({ error }) => error.isFromGateway)) return { unit: 255, nameplate: {} }
      throw (
        this.#silence(
          errors.map(({ unit }) => unit),
          errors.map(({ error }) => error),
        ) ?? errors[0]?.error
      )
    }
    const { unit } = answering
    if (!this.#scan.reportsServerId) return { unit, nameplate: {} }
    const reported = await this.#try(unit, async (connection) => {
      const serverId = textOf(await connection.reportServerId(unit))
      return serverId === undefined ? {} : { serverId }
    })
    return { unit, nameplate: 'nameplate' in reported ? reported.nameplate : {} }
  }

  /** Returns the error of a device that answers to none of several units. */
  #silence(units: readonly number[], errors: readonly ModbusError[]): ModbusError | undefined {
    if (units.length < 2 || errors.some(({ fault }) => fault !== 'no answer')) return undefined
    const { address, port } = this.#at
    const text = `${address} port ${port} does not answer to Modbus requests for the units ${units.join(', ')}.`
    return new ModbusError('no answer', text)
  }

  async #try(unit: number, work: (connection: ModbusConnection) => Promise<Nameplate>): Promise<Answer> {
    try {
      return { unit, nameplate: await work(await this.#openConnection()) }
    } catch (error) {
      if (error instanceof ModbusError) return { unit, error }
      throw error
    }
  }

  async #openConnection(): Promise<ModbusConnection> {
    if (this.#connection.isClosed) {
      this.#connection[Symbol.dispose]()
      const connection = await connectTo(this.#at)
      if (connection === undefined) {
        const place = `${this.#at.address} port ${this.#at.port}`
        throw new ModbusError('closed', `${place} accepts no further connection after it closed the first one.`)
      }
      this.#connection = connection
    }
    return this.#connection
  }
}
