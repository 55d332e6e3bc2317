import { isUtf8 } from 'node:buffer'

/*
 * This file decodes the system status lists (SZL) that identify a module. Their structure is public in the manual "System
 * Software for S7-300/400, System and Standard Functions", chapter "System Status Lists". A list starts with its id, its
 * index, the length of a record and the number of records. A decoder never throws. A faulty list has no records.
 */

export const listIds = { moduleIdentification: 0x0011, componentIdentification: 0x001c, operatingMode: 0x0424 } as const

const headerBytes = 8
/** The maximum number of records of a list that are read. */
const mostRecords = 256
const longestText = 256

/** `Nameplate` is the identification of a module as text. */
export type Nameplate = {
  orderNumber?: string
  hardwareVersion?: string
  firmwareVersion?: string
  bootLoaderVersion?: string
  plcName?: string
  moduleName?: string
  plantIdentification?: string
  copyright?: string
  serialNumber?: string
  moduleType?: string
  memoryCardSerialNumber?: string
  manufacturerId?: number
  profileId?: number
  oemCopyright?: string
  locationIdentification?: string
}

/** `Lists` contains the lists of a module by their id. A list is missing if the module does not return it. */
export type Lists = ReadonlyMap<number, Buffer>

/** Returns the records of a list by their number. The first record with a number counts. */
function recordsOf(lists: Lists, id: number): Map<number, Buffer> {
  const records = new Map<number, Buffer>()
  const list = lists.get(id)
  if (list === undefined || list.length < headerBytes || list.readUInt16BE(0) !== id) return records
  const length = list.readUInt16BE(4)
  const count = Math.min(list.readUInt16BE(6), mostRecords)
  if (length < 4) return records
  for (let number = 0; number < count; number += 1) {
    const start = headerBytes + number * length
    if (start + length > list.length) break
    const record = list.subarray(start, start + length)
    // In the first byte, redundant CPUs report their rack and whether they are the master.
    const index = record.readUInt16BE(0) & 0xff
    if (!records.has(index)) records.set(index, record.subarray(2))
  }
  return records
}

/** The numbers of the records of list 0x0011. */
const modules = { module: 0x01, hardware: 0x06, firmware: 0x07, bootLoader: 0x81 } as const
const orderNumberBytes = 20

/** The numbers of the records of list 0x001C that contain text, and the length of the text in bytes. */
const components = {
  plcName: [1, 24],
  moduleName: [2, 24],
  plantIdentification: [3, 32],
  copyright: [4, 26],
  serialNumber: [5, 24],
  moduleType: [7, 32],
  memoryCardSerialNumber: [8, 32],
  oemCopyright: [10, 26],
  locationIdentification: [11, 32],
} as const
const manufacturerRecord = 9

/** Decodes the nameplate of a module from its lists 0x0011 and 0x001C. */
export function nameplateOf(lists: Lists): Nameplate {
  const identification = recordsOf(lists, listIds.moduleIdentification)
  const { module, hardware, firmware, bootLoader } = modules
  const component = recordsOf(lists, listIds.componentIdentification)
  const maker = component.get(manufacturerRecord)
  const texts = Object.entries(components).map(([name, [number, bytes]]) => [
    name,
    textOf(component.get(number)?.subarray(0, bytes)),
  ])
  const values = {
    orderNumber: textOf((identification.get(module) ?? identification.get(hardware))?.subarray(0, orderNumberBytes)),
    hardwareVersion: releaseOf(identification.get(hardware)) ?? releaseOf(identification.get(module)),
    firmwareVersion: versionOf(identification.get(firmware)),
    bootLoaderVersion: versionOf(identification.get(bootLoader)),
    ...Object.fromEntries(texts),
    ...(maker !== undefined && maker.length >= 4
      ? { manufacturerId: maker.readUInt16BE(0), profileId: maker.readUInt16BE(2) }
      : {}),
  }
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

/** Returns a version such as `V3.2.6`: a letter and three numbers after the order number and the module type. */
function versionOf(record: Buffer | undefined): string | undefined {
  const [letter, first, second, third] = record?.subarray(orderNumberBytes + 2) ?? []
  if (letter === undefined || third === undefined || !isCapital(letter)) return undefined
  return `${String.fromCharCode(letter)}${first}.${second}.${third}`
}

/** Returns the release of a module: a number, or a version with a letter. */
function releaseOf(record: Buffer | undefined): string | undefined {
  const version = versionOf(record)
  if (version !== undefined || record === undefined || record.length < orderNumberBytes + 4) return version
  const release = record.readUInt16BE(orderNumberBytes + 2)
  return release === 0 ? undefined : String(release)
}

function isCapital(code: number): boolean {
  return code >= 0x41 && code <= 0x5a
}

/** Returns the readable text of a field. Texts end with the first zero byte, and contain ASCII, UTF-8 or Latin-1. */
function textOf(bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined) return undefined
  const end = bytes.indexOf(0)
  const used = end === -1 ? bytes : bytes.subarray(0, end)
  const text = used
    .toString(isUtf8(used) ? 'utf8' : 'latin1')
    .replaceAll(/[\p{C}\xff]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, longestText)
  return text === '' ? undefined : text
}

/** The names of the operating modes by their number in list 0x0424. */
const operatingModes: Readonly<Record<number, string>> = {
  1: 'stop',
  2: 'stop',
  3: 'stop',
  4: 'stop',
  5: 'startup',
  7: 'startup',
  8: 'run',
  10: 'hold',
  13: 'defective',
}

/** Returns the operating mode of a CPU from its list 0x0424. */
export function operatingModeOf(lists: Lists): string | undefined {
  const [record] = recordsOf(lists, listIds.operatingMode).values()
  // The record without its first word: a reserved byte, and the mode in the lower four bits of the next byte.
  return record === undefined ? undefined : operatingModes[(record[1] ?? 0) & 0x0f]
}
