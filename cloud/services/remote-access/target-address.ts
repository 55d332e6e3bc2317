import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

/**
 * The addresses that are never a target, in the cloud. The gateway has stricter rules of its own, and decides about loopback
 * addresses.
 */
const refusedIpv4 = new BlockList()
refusedIpv4.addSubnet('0.0.0.0', 8)
refusedIpv4.addSubnet('169.254.0.0', 16)
refusedIpv4.addSubnet('224.0.0.0', 4)
refusedIpv4.addAddress('255.255.255.255')

// The lists are separate, because a list treats mapped IPv6 addresses and IPv4 addresses as equal.
const refusedIpv6 = new BlockList()
refusedIpv6.addSubnet('fe80::', 10, 'ipv6')
refusedIpv6.addSubnet('ff00::', 8, 'ipv6')
refusedIpv6.addAddress('fd00:ec2::254', 'ipv6')
// Addresses that contain an IPv4 address: NAT64, 6to4 and Teredo.
refusedIpv6.addSubnet('64:ff9b::', 96, 'ipv6')
refusedIpv6.addSubnet('2002::', 16, 'ipv6')
refusedIpv6.addSubnet('2001::', 32, 'ipv6')

/** Returns an IP address in its canonical form. Returns undefined for other text, such as host names and zone ids. */
export function canonicalAddress(text: string): string | undefined {
  const trimmed = text.trim()
  if (isIPv4(trimmed)) return trimmed
  if (!isIPv6(trimmed) || trimmed.includes('%')) return undefined
  return new URL(`http://[${trimmed}]`).hostname.slice(1, -1)
}

/** Returns whether a session may have this address as its target. The address is in its canonical form. */
export function isPossibleTarget(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return false
  if (family === 4) return !refusedIpv4.check(address, 'ipv4')
  // The unspecified address, and addresses that contain an IPv4 address, such as ::10.0.0.1 and ::ffff:10.0.0.1. The gateway
  // decides about the loopback address.
  if (address === '::' || address.startsWith('::ffff:')) return false
  if (address !== '::1' && /^::(?:[0-9a-f]{1,4}:)?[0-9a-f]{1,4}$/.test(address)) return false
  return !refusedIpv6.check(address, 'ipv6')
}

/** Returns the IP addresses of the connection points of an asset, in their canonical form. */
export function connectionAddresses({ connection_points: points }: Record<string, unknown>): Set<string> {
  const texts = (Array.isArray(points) ? points : []).flatMap((point) => [point?.ipv4_address, point?.ipv6_address])
  const addresses = texts.map((text) => (typeof text === 'string' ? canonicalAddress(text) : undefined))
  return new Set(addresses.filter((address) => address !== undefined))
}
