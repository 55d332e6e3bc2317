import { type Document, isDocument } from './document.ts'

/** One way to write what links write in several. */

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

/** `firmware_update` and the like; a name that is nobody's standard passes as it is. */
export function operationName(name: string): string {
  const plain = name.replaceAll(/[_\s-]/g, '').toLowerCase()
  return operationNames.find((known) => known.toLowerCase() === plain) ?? name
}

/** Pairs with : or - pass; twelve digits in a row, or in groups of four, become pairs. */
export function macAddress(text: string): string {
  const digits = text.trim().replaceAll(/[.:\s-]/g, '')
  if (!/^[0-9a-f]{12}$/i.test(digits) || /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text)) return text
  return (digits.match(/../g) ?? []).join(':')
}

/** All eight groups written out, as the schema has it. What is no such address passes as it is. */
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

/** `https://host?1P=…` without a path is `https://host/?1P=…`: the same link in the spelling that the schema has. */
export function idLink(text: string): string {
  return text.trim().replace(/^(https?:\/\/[^/?#\s]+)(?=\?|$)/i, '$1/')
}

const spellings: ReadonlyMap<string, (text: string) => string> = new Map([
  ['mac_address', macAddress],
  ['id_link', idLink],
  ['product_link', idLink],
  ['ipv6_address', ipv6Address],
  ['operation_name', operationName],
  ['mode_name', (name: string) => name.trim().toLowerCase()],
])

/** Writes everything in a document the one way. The document is changed: it is whoever's own who has it respelled. */
export function respell(document: Document): void {
  for (const name of Object.keys(document)) {
    const value = document[name]
    if (typeof value === 'string') document[name] = spellings.get(name)?.(value) ?? value
    else if (Array.isArray(value)) respellEach(value, spellings.get(name))
    else if (isDocument(value)) respell(value)
  }
  nameFirmware(document)
}

function respellEach(values: unknown[], spelling: ((text: string) => string) | undefined): void {
  for (const [index, value] of values.entries()) {
    if (isDocument(value)) respell(value)
    else if (Array.isArray(value)) respellEach(value, spelling)
    else if (typeof value === 'string' && spelling !== undefined) values[index] = spelling(value)
  }
}

/** Some links write the name of the firmware in small letters: it is the same firmware. */
function nameFirmware(document: Document): void {
  const { asset_identifier_type: type, name } = document
  if (type === 'SoftwareIdentifier' && typeof name === 'string' && /^firmware$/i.test(name.trim())) {
    document.name = 'Firmware'
  }
}
