import { type Document, isDocument } from './document.ts'

/** This file normalises values that links write in different ways. */

const operationNames = [
  'FirmwareUpdate',
  'TwoStepFirmwareUpdate',
  'FactoryReset',
  'ResetCommunicationParameter',
  'Backup',
  'MemoryReset',
  'ProgramUpdate',
  'ChangeMode',
  'Restore',
] as const

/** Normalises the name of an operation, such as `firmware_update`. An unknown name is not changed. */
export function operationName(name: string): string {
  const plain = name.replaceAll(/[_\s-]/g, '').toLowerCase()
  return operationNames.find((candidate) => candidate.toLowerCase() === plain) ?? name
}

/**
 * Normalises a MAC address to pairs of digits. The input consists of pairs or groups of four digits, or has no
 * separators. Other text is not changed.
 */
export function macAddress(text: string): string {
  const digits = text.trim().replaceAll(/[.:\s-]/g, '')
  if (!/^[0-9a-f]{12}$/i.test(digits) || /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text)) return text
  return (digits.match(/../g) ?? []).join(':')
}

/** Expands an IPv6 address to eight groups, as the schema requires. Other text is not changed. */
export function ipv6Address(text: string): string {
  const address = text.trim().replace(/%.*$/, '')
  if (!/^[0-9a-f:]+$/i.test(address) || !address.includes('::')) return address
  const [before = '', after = '', ...more] = address.split('::')
  const head = before === '' ? [] : before.split(':')
  const tail = after === '' ? [] : after.split(':')
  const gap = 8 - head.length - tail.length
  if (more.length > 0 || gap < 1) return address
  return [...head, ...Array<string>(gap).fill('0'), ...tail].join(':')
}

/** Adds the missing path to an id link: `https://host?1P=…` becomes `https://host/?1P=…`, as the schema requires. */
export function idLink(text: string): string {
  return text.trim().replace(/^(https?:\/\/[^/?#\s]+)(?=\?|$)/i, '$1/')
}

const normalisers: ReadonlyMap<string, (text: string) => string> = new Map([
  ['mac_address', macAddress],
  ['id_link', idLink],
  ['product_link', idLink],
  ['ipv6_address', ipv6Address],
  ['operation_name', operationName],
  ['mode_name', (name: string) => name.trim().toLowerCase()],
])

/** Normalises the values of a document and of its nested documents, in place. */
export function normaliseDocument(document: Document): void {
  for (const name of Object.keys(document)) {
    const value = document[name]
    if (typeof value === 'string') document[name] = normalisers.get(name)?.(value) ?? value
    else if (Array.isArray(value)) normaliseEach(value, normalisers.get(name))
    else if (isDocument(value)) normaliseDocument(value)
  }
  nameFirmware(document)
}

function normaliseEach(values: unknown[], normaliser: ((text: string) => string) | undefined): void {
  for (const [index, value] of values.entries()) {
    if (isDocument(value)) normaliseDocument(value)
    else if (Array.isArray(value)) normaliseEach(value, normaliser)
    else if (typeof value === 'string' && normaliser !== undefined) values[index] = normaliser(value)
  }
}

/** Normalises the name of firmware, which some links write in lower case. */
function nameFirmware(document: Document): void {
  const { asset_identifier_type: type, name } = document
  if (type === 'SoftwareIdentifier' && typeof name === 'string' && /^firmware$/i.test(name.trim())) {
    document.name = 'Firmware'
  }
}
