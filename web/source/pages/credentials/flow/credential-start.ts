/**
 * `CredentialStart` contains the data of a protected device for which the user adds credentials: its IP address, the asset link
 * and the gateway that found it, and the scan that reported it.
 */
export type CredentialStart = {
  address?: string | undefined
  gatewayId?: string | undefined
  assetLinkId?: string | undefined
  scanId?: string | undefined
}

const ipv4 = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/
const ipv6 = /^\[?([0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*)(?:%\w+)?\]?(?::\d+)?$/i

/** Returns the IP address in the address of a device, whose format depends on the asset link. */
export function addressOfDevice(device: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const texts = Object.values(device ?? {}).filter((value) => typeof value === 'string')
  return texts.flatMap((text) => ipv4.exec(text)?.[0] ?? ipv6.exec(text)?.[1] ?? [])[0]
}

/** Returns the network with 256 addresses around an IPv4 address, or undefined for other addresses. */
export function networkOf(address: string): string | undefined {
  const parts = address.split('.')
  return parts.length === 4 ? `${parts.slice(0, 3).join('.')}.0/24` : undefined
}

/** Returns the address if the ranges consist of a single address. */
export function singleAddress(ranges: readonly string[]): string | undefined {
  const [only] = ranges
  return ranges.length === 1 && only !== undefined && !/[/-]/.test(only) ? only : undefined
}
