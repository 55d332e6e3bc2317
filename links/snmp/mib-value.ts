import type { VarbindValue } from './session.ts'

/** The maximum length of a text of a device. Longer texts are cut. */
const mostCharacters = 1_024

/** Returns a text of a device without control and format characters, or undefined if it is empty. */
export function textOf(value: VarbindValue): string | undefined {
  if (value === undefined || typeof value === 'number') return undefined
  const text = typeof value === 'string' ? value : value.toString(isUtf8(value) ? 'utf8' : 'latin1')
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}\ufffd]+/gu, ' ').trim()
  return clean === '' ? undefined : clean.slice(0, mostCharacters)
}

function isUtf8(bytes: Buffer): boolean {
  return !bytes.toString('utf8').includes('\ufffd')
}

export function numberOf(value: VarbindValue): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Returns a MAC address such as 00:1B:1B:00:00:01, or undefined for other values and for unusable addresses. */
export function macOf(value: VarbindValue): string | undefined {
  return Buffer.isBuffer(value) && value.length === 6 ? usableMac([...value]) : undefined
}

/** Returns the MAC address in the last six parts of an index, such as that of a row of the bridge table. */
export function macOfIndex(index: string): string | undefined {
  const parts = index.split('.').slice(-6).map(Number)
  return parts.length === 6 && parts.every((part) => part <= 255) ? usableMac(parts) : undefined
}

/** Addresses of redundant routers (VRRP and HSRP), which several devices share. */
const sharedMac = /^00:00:5E:00:0[12]|^00:00:0C:07:AC|^00:00:0C:9F:F/

/** Leaves out multicast, empty and shared addresses, because they do not name one device. */
function usableMac(bytes: readonly number[]): string | undefined {
  const [first = 1] = bytes
  const mac = bytes.map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join(':')
  return first % 2 === 1 || bytes.every((byte) => byte === 0) || sharedMac.test(mac) ? undefined : mac
}

/** Returns the IPv4 address of an index such as `10.0.0.7`, or undefined for other indexes. */
export function ipOfIndex(index: string): string | undefined {
  const parts = index.split('.')
  return parts.length === 4 && parts.every((part) => Number(part) <= 255) ? index : undefined
}

/** Returns a network mask, or undefined if it is not one. */
export function maskOf(value: VarbindValue): string | undefined {
  const bits =
    typeof value === 'string' ? value.split('.').map((part) => Number(part).toString(2).padStart(8, '0')) : []
  return /^1{8}1*0*$/.test(bits.join('')) && bits.length === 4 ? String(value) : undefined
}
