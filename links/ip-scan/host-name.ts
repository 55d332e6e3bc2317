import { getServers, Resolver } from 'node:dns'
import { isIP } from 'node:net'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Log } from '@millwright/link-sdk/log.ts'
import { PermitRefusedError, type Permits } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'

/** Returns the name of a device, or undefined if it has none. */
export type HostNames = (address: string) => Promise<string | undefined>

type HostNameOptions = { server: string; permits: Permits; signal: AbortSignal; log: Log }

const timeoutMs = 1_000
/** The time limit of the resolver, which counts pauses of this process. The link ends queries before. */
const resolverMs = 600_000
const missing: readonly string[] = ['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'EREFUSED', 'EBADRESP', 'EBADNAME']

/**
 * Returns a function that queries names from a DNS server, one datagram per query. If the server does not answer, the
 * function sends no further queries, so that a scan without DNS is not slower.
 */
export function hostNames({ server, permits, signal, log }: HostNameOptions): HostNames {
  const place = server === '' ? getServers().find((one) => addressIn(one) !== undefined) : server
  if (place === undefined) return async () => undefined
  const address = addressIn(place)
  if (address === undefined) {
    throw new LinkError('INVALID_ARGUMENT', `"dns_server" must be an IPv4 address such as 10.0.0.2, but is "${place}".`)
  }
  let isAvailable = true
  const resolver = new Resolver({ timeout: resolverMs, tries: 1, maxTimeout: resolverMs })
  resolver.setServers([place])
  signal.addEventListener('abort', () => resolver.cancel(), { once: true })

  const stop = (message: string) => {
    if (isAvailable) log.warn(message, { server: address })
    isAvailable = false
    resolver.cancel()
    return undefined
  }
  return async (device) => {
    try {
      if (!isAvailable) return undefined
      using _permit = await permits.take({ address, protocol: 'dns', operation: 'PTR query', kind: 'datagram_request' })
      if (!isAvailable) return undefined
      return await query(resolver, device)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof PermitRefusedError && ['excluded', 'protocol'].includes(error.reason))
        return stop(`The scan reads no names from DNS: ${error.message}`)
      if (error instanceof LinkError) throw error
      return stop('The scan reads no names from DNS, because the DNS server does not answer.')
    }
  }
}

/** Returns the IPv4 address of a server with an optional port. IPv6 servers are not used, because permits are for IPv4. */
function addressIn(server: string): string | undefined {
  const [, address = '', port = '53'] = /^([\d.]+)(?::(\d{1,5}))?$/.exec(server.trim()) ?? []
  return isIP(address) === 4 && Number(port) <= 65_535 ? address : undefined
}

async function query(resolver: Resolver, address: string): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>()
  using _timer = startTimer(timeoutMs, () => reject(new Error('The DNS server does not answer.')))
  const name = `${address.split('.').toReversed().join('.')}.in-addr.arpa`
  resolver.resolvePtr(name, (error, names) => {
    if (error === null) resolve(names.map(validName).find((one) => one !== undefined))
    else if (missing.includes(error.code ?? '')) resolve(undefined)
    else reject(error)
  })
  return await promise
}

/** Returns a name without its final dot. Any text can be in DNS, so only valid host names are used. */
export function validName(name: string): string | undefined {
  const text = name.replace(/\.$/, '')
  const isValid = text.length <= 253 && /^(?!-)[\w-]{1,63}(\.[\w-]{1,63})*$/.test(text) && isIP(text) === 0
  return isValid ? text : undefined
}
