/**
 * `CredentialStart` contains the data of protected devices for which the user adds credentials: the IP address of the first one, the
 * asset link and the gateway that found them, and the scan that reported them.
 */
export type CredentialStart = {
  address?: string | undefined
  /** The addresses of all devices, if the credentials are for several ones. */
  addresses?: readonly string[] | undefined
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
function networkOf(address: string): string | undefined {
  const parts = address.split('.')
  return parts.length === 4 ? `${parts.slice(0, 3).join('.')}.0/24` : undefined
}

/** Returns the address ranges of all devices for which the user adds credentials, one in each line. */
export function rangesOfStart({ address, addresses }: CredentialStart): string {
  return (addresses ?? [address ?? '']).join('\n')
}

/** Returns the network with 256 addresses that contains all devices, or undefined if there is none. */
export function networkOfStart({ address, addresses }: CredentialStart): string | undefined {
  const networks = new Set((addresses ?? [address ?? '']).map(networkOf))
  return networks.size === 1 ? [...networks][0] : undefined
}

/** Returns the address if the ranges consist of a single address. */
export function singleAddress(ranges: readonly string[]): string | undefined {
  const [only] = ranges
  return ranges.length === 1 && only !== undefined && !/[/-]/.test(only) ? only : undefined
}
