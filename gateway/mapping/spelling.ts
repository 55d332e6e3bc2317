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

const spellings: Readonly<Record<string, (text: string) => string>> = {
  mac_address: macAddress,
  ipv6_address: ipv6Address,
  operation_name: operationName,
  mode_name: (name) => name.trim().toLowerCase(),
}

/** A document with everything in it written the one way. */
export function respelled(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((entry) => respelled(entry, name))
  if (isDocument(value)) return respelledMembers(value)
  const spelling = Object.hasOwn(spellings, name) ? spellings[name] : undefined
  return typeof value === 'string' && spelling !== undefined ? spelling(value) : value
}

function respelledMembers(document: Document): Document {
  const members = Object.entries(document).map(([name, value]) => [name, respelled(value, name)])
  return firmwareNamed(Object.fromEntries(members))
}

/** Some links write the name of the firmware in small letters: it is the same firmware. */
function firmwareNamed(document: Document): Document {
  const isSoftware = document.asset_identifier_type === 'SoftwareIdentifier'
  const isFirmware = isSoftware && typeof document.name === 'string' && /^firmware$/i.test(document.name.trim())
  return isFirmware ? { ...document, name: 'Firmware' } : document
}
