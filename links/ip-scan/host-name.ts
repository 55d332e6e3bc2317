import { getServers } from 'node:dns'
import { isIP } from 'node:net'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Log } from '@millwright/link-sdk/log.ts'
import { PermitRefusedError, type Permits } from '@millwright/link-sdk/network/permits.ts'
import { queryNames } from './dns-query.ts'

/** Returns the name of a device, or undefined if it has none. */
export type HostNames = (address: string) => Promise<string | undefined>

type HostNameOptions = { server: string; permits: Permits; signal: AbortSignal; log: Log }

const timeoutMs = 1_000

/**
 * Returns a function that queries names from a DNS server, one datagram per query. If the server does not answer, the
 * function sends no further queries, so that a scan without DNS is not slower.
 */
export function hostNames({ server, permits, signal, log }: HostNameOptions): HostNames {
  const place = server === '' ? getServers().find((one) => serverIn(one) !== undefined) : server
  if (place === undefined) return async () => undefined
  const found = serverIn(place)
  if (found === undefined) {
    throw new LinkError('INVALID_ARGUMENT', `"dns_server" must be an IPv4 address such as 10.0.0.2, but is "${place}".`)
  }
  const { address } = found
  let isAvailable = true
  const stopped = new AbortController()
  const either = AbortSignal.any([signal, stopped.signal])

  const stop = (message: string) => {
    if (isAvailable) log.warn(message, { server: address })
    isAvailable = false
    stopped.abort()
    return undefined
  }
  return async (device) => {
    try {
      if (!isAvailable) return undefined
      using _permit = await permits.take({ address, protocol: 'dns', operation: 'PTR query', kind: 'datagram_request' })
      if (!isAvailable) return undefined
      const names = await queryNames({ server: found, address: device, timeoutMs, signal: either })
      return names.map(validName).find((one) => one !== undefined)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof PermitRefusedError && ['excluded', 'protocol'].includes(error.reason))
        return stop(`The scan reads no names from DNS: ${error.message}`)
      if (error instanceof LinkError) throw error
      return stop('The scan reads no names from DNS, because the DNS server does not answer.')
    }
  }
}

/** Returns the IPv4 address and the port of a server. IPv6 servers are not used, because permits are for IPv4. */
function serverIn(server: string): { address: string; port: number } | undefined {
  const [, address = '', port = '53'] = /^([\d.]+)(?::(\d{1,5}))?$/.exec(server.trim()) ?? []
  return isIP(address) === 4 && Number(port) <= 65_535 ? { address, port: Number(port) } : undefined
}

/** Returns a name without its final dot. Any text can be in DNS, so only valid host names are used. */
export function validName(name: string): string | undefined {
  const text = name.replace(/\.$/, '')
  const isValid = text.length <= 253 && /^(?!-)[\w-]{1,63}(\.[\w-]{1,63})*$/.test(text) && isIP(text) === 0
  return isValid ? text : undefined
}
