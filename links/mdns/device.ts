import { isUtf8 } from 'node:buffer'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { timeLimit } from '@millwright/link-sdk/network/timer.ts'
import { Channel } from './channel.ts'
import { MdnsError } from './mdns-error.ts'
import { type DnsQuery, type DnsRecord, keyOf, type Name, type RecordType } from './message.ts'
import { compareTypes, deviceInfoType, usualTypes } from './service-types.ts'

/** `Service` is a service that a device announces (DNS-SD, RFC 6763). */
export type Service = {
  /** The type, such as `_ipp._tcp`. */
  type: string
  /** The name of the instance, such as `Printer hall 3`. */
  name: string
  /** The name of the host without its domain. */
  host: string | undefined
  port: number | undefined
  /** The strings of the TXT record, such as `ty=Acme P100`. */
  txt: readonly string[]
}

/** `Reading` is what a device reported about itself. */
export type Reading = {
  hostName: string | undefined
  services: readonly Service[]
  /** Why the reading is not complete. */
  problem?: LinkError
}

/** The limits of one device. Further types, services and records are not read. */
export const deviceLimits = {
  types: 32,
  servicesOfType: 16,
  services: 64,
  hosts: 8,
  records: 1_024,
  /** The number of characters of a text. */
  text: 256,
  /** The number of queries without an answer after which the device counts as silent. */
  silentQueries: 3,
} as const

const domain = 'local'
export const serviceTypesName: Name = ['_services', '_dns-sd', '_udp', domain]

type ReadOptions = {
  deviceSeconds: number
  /** Whether the address answered to a multicast query. */
  isResponder?: boolean
}

/**
 * Reads the services of the device at an address. Returns undefined if it does not speak multicast DNS. Throws a
 * `LinkError` if the device is faulty.
 */
export async function readDevice(
  at: ContactOptions,
  { deviceSeconds, isResponder = false }: ReadOptions,
): Promise<Reading | undefined> {
  const tooSlow = new LinkError(
    'OUT_OF_RANGE',
    `${at.address} could not be read within ${deviceSeconds} seconds. Set the option device_seconds, or exclude the address.`,
  )
  using limit = timeLimit({ ms: deviceSeconds * 1_000, canceled: at.signal, reason: () => tooSlow })
  using channel = new Channel({ ...at, signal: limit.signal, permits: limit.permits(at.permits) })
  const reader = new DeviceReader(channel, at.address)
  try {
    if (!(await reader.contact())) return isResponder ? { ...reader.reading(), problem: unread(at.address) } : undefined
    limit.start()
    await reader.readServices()
    await reader.readHostName()
    return reader.reading()
  } catch (error) {
    at.signal.throwIfAborted()
    if (error === tooSlow) return { ...reader.reading(), problem: tooSlow }
    if (!(error instanceof MdnsError)) throw error
    if (error.kind === 'faulty') throw faulty(at.address, error)
    if (error.kind === 'refused' && !reader.hasAnswered) return undefined
    return { ...reader.reading(), problem: incomplete(at.address, error) }
  }
}

function faulty(address: string, { message }: MdnsError): LinkError {
  return new LinkError(
    'DATA_LOSS',
    `The device at ${address} ${message}. Its multicast DNS is faulty: update its firmware, or exclude the address.`,
  )
}

function incomplete(address: string, { message }: MdnsError): LinkError {
  return new LinkError(
    'UNAVAILABLE',
    `The services of the device at ${address} are not complete: while the link read them, the device ${message}. Scan the device again.`,
  )
}

function unread(address: string): LinkError {
  return new LinkError(
    'UNAVAILABLE',
    `The device at ${address} answers to a multicast query, but not to queries to its address, so its services are not known. Read the device with another link.`,
  )
}

/** `DeviceReader` reads the types of services of one device, then the services, and then their hosts. */
class DeviceReader {
  readonly #channel: Channel
  readonly #address: string
  readonly #records = new Map<string, DnsRecord[]>()
  readonly #services: Name[] = []
  #size = 0
  #silent = 0
  hasAnswered = false

  constructor(channel: Channel, address: string) {
    this.#channel = channel
    this.#address = address
  }

  add(records: readonly DnsRecord[]): void {
    for (const record of records.slice(0, deviceLimits.records - this.#size)) {
      const key = questionKey(record)
      const same = this.#records.get(key)
      if (same === undefined) this.#records.set(key, [record])
      else same.push(record)
      this.#size += 1
    }
  }

  /**
   * Queries the types of services, and then the name of the address. Some devices answer to only one of the queries.
   * Returns whether the device answered.
   */
  async contact(): Promise<boolean> {
    for (const name of [serviceTypesName, reverseName(this.#address)]) {
      const records = await this.#channel.query({ name, type: 'PTR' })
      if (records === undefined) continue
      this.hasAnswered = true
      this.add(records)
      return true
    }
    return false
  }

  async readServices(): Promise<void> {
    const listed = this.#listedTypes()
    const types = listed.length === 0 ? usualTypes.map((type) => [...type.split('.'), domain]) : listed
    for (const type of types) {
      const found = await this.#pointersOf(type, { isExpected: listed.length > 0 })
      for (const service of found.filter((name) => isServiceOf(name, type)).slice(0, deviceLimits.servicesOfType)) {
        if (this.#services.length >= deviceLimits.services) return
        this.#services.push(service)
        await this.#query({ name: service, type: 'SRV' })
        await this.#query({ name: service, type: 'TXT' })
      }
    }
  }

  /** Reads the addresses of the hosts that the services name, and the record with the model of the host. */
  async readHostName(): Promise<void> {
    for (const host of this.#hosts()) await this.#query({ name: host, type: 'A' })
    const own = this.#ownHost()
    if (own === undefined) await this.#query({ name: reverseName(this.#address), type: 'PTR' }, { isExpected: false })
    const label = this.#hostName()?.[0]
    if (label === undefined) return
    const name = [label, ...deviceInfoType.split('.'), domain]
    if (this.#services.some((service) => keyOf(service) === keyOf(name))) return
    await this.#query({ name, type: 'TXT' }, { isExpected: false })
    if (this.#find({ name, type: 'TXT' }).length > 0 && this.#services.length < deviceLimits.services)
      this.#services.push(name)
  }

  reading(): Reading {
    const services = this.#services.flatMap((name) => this.#serviceOf(name) ?? [])
    return {
      hostName: hostText(this.#hostName()),
      services: services.toSorted((one, other) => compareTypes(one.type, other.type) || compare(one.name, other.name)),
    }
  }

  #listedTypes(): Name[] {
    const listed = this.#find({ name: serviceTypesName, type: 'PTR' }).map(({ target }) => target)
    const types = new Map(listed.filter(isType).map((name) => [keyOf(name), name]))
    return [...types.values()]
      .toSorted((one, other) => compareTypes(typeText(one), typeText(other)))
      .slice(0, deviceLimits.types)
  }

  /** Returns the host of a service whose address is the address of the device. */
  #ownHost(): Name | undefined {
    return this.#hosts().find((host) => this.#addressesOf(host).includes(this.#address))
  }

  #hostName(): Name | undefined {
    const reverse = this.#find({ name: reverseName(this.#address), type: 'PTR' }).map(({ target }) => target)
    const silent = this.#hosts().filter((host) => this.#addressesOf(host).length === 0)
    return [this.#ownHost(), ...reverse, ...silent].find((name) => name !== undefined && name.length > 1)
  }

  #hosts(): Name[] {
    const targets = this.#services.flatMap((name) => this.#find({ name, type: 'SRV' }).map(({ target }) => target))
    return [...new Map(targets.map((target) => [keyOf(target), target])).values()].slice(0, deviceLimits.hosts)
  }

  #addressesOf(host: Name): string[] {
    return this.#find({ name: host, type: 'A' }).map(({ address }) => address)
  }

  /** Returns a service, or undefined if it belongs to another host. A device can announce services of other hosts. */
  #serviceOf(name: Name): Service | undefined {
    const [server] = this.#find({ name, type: 'SRV' })
    const addresses = server === undefined ? [] : this.#addressesOf(server.target)
    if (addresses.length > 0 && !addresses.includes(this.#address)) return undefined
    const [text] = this.#find({ name, type: 'TXT' })
    return {
      type: typeText(name.slice(1)),
      name: textOf(name[0] ?? '') ?? '',
      host: hostText(server?.target),
      port: server?.port,
      txt: (text?.strings ?? []).flatMap((one) => textOf(one) ?? []),
    }
  }

  async #pointersOf(name: Name, options: { isExpected: boolean }): Promise<Name[]> {
    await this.#query({ name, type: 'PTR' }, options)
    const targets = this.#find({ name, type: 'PTR' }).map(({ target }) => target)
    return [...new Map(targets.map((target) => [keyOf(target), target])).values()]
  }

  /**
   * Sends a query, unless its answer is already known. Repeats it once if the device does not answer. A device that does
   * not answer to several queries for records that it announced itself is no longer queried.
   */
  async #query(question: DnsQuery, { isExpected = true } = {}): Promise<void> {
    if (this.#find(question).length > 0) return
    for (let attempt = 0; attempt < (isExpected ? 2 : 1); attempt += 1) {
      const records = await this.#channel.query(question)
      if (records === undefined) continue
      this.#silent = 0
      this.add(records)
      return
    }
    if (!isExpected) return
    this.#silent += 1
    if (this.#silent >= deviceLimits.silentQueries) throw new MdnsError('silent', 'no longer answered')
  }

  #find<Type extends RecordType>(question: { name: Name; type: Type }) {
    return (this.#records.get(questionKey(question)) ?? []) as Extract<DnsRecord, { type: Type }>[]
  }
}

function questionKey({ name, type }: { name: Name; type: RecordType }): string {
  return `${type} ${keyOf(name)}`
}

/** Returns the name of an address, such as `4.3.2.10.in-addr.arpa`. */
export function reverseName(address: string): Name {
  return [...address.split('.').toReversed(), 'in-addr', 'arpa']
}

function isType(name: Name): boolean {
  const [type, protocol, last] = name
  return name.length === 3 && /^_./.test(type ?? '') && /^_(tcp|udp)$/i.test(protocol ?? '') && isLocal(last)
}

function isServiceOf(name: Name, type: Name): boolean {
  return name.length === type.length + 1 && keyOf(name.slice(1)) === keyOf(type)
}

function isLocal(label: string | undefined): boolean {
  return label?.toLowerCase() === domain
}

/** Returns a type without its domain, such as `_ipp._tcp`. */
function typeText(type: Name): string {
  return textOf(type.slice(0, 2).join('.').toLowerCase()) ?? ''
}

/** Returns the name of a host without the domain `local`. */
function hostText(host: Name | undefined): string | undefined {
  if (host === undefined) return undefined
  return textOf((isLocal(host.at(-1)) ? host.slice(0, -1) : host).join('.'))
}

/** Returns readable text. `bytes` has one character per byte. Devices send UTF-8, and some send Latin-1. */
export function textOf(bytes: string): string | undefined {
  const buffer = Buffer.from(bytes, 'latin1')
  const text = buffer
    .toString(isUtf8(buffer) ? 'utf8' : 'latin1')
    .replaceAll(/[\p{C}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, deviceLimits.text)
    .toWellFormed()
    .trim()
  return text === '' ? undefined : text
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
