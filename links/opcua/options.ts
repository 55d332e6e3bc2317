import { isIPv4 } from 'node:net'
import type { Address } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { localAddressOf } from '@millwright/link-sdk/network/local-network.ts'
import { requiredPortsOf, wholeNumber } from '@millwright/link-sdk/network/range.ts'
import { defaultOptionsOf, type Options } from '@millwright/link-sdk/parameters.ts'
import { manifest } from './manifest.ts'
import { defaultPort } from './services.ts'

/** `ScanOptions` are the options of the link with their limits checked. */
export type ScanOptions = {
  ports: number[]
  connectMs: number
  answerMs: number
  deviceSeconds: number
  parallel: number
  localAddress: string | undefined
  followDiscoveryServers: boolean
  allowPlainPassword: boolean
}

export function scanOptionsOf(options: Options): ScanOptions {
  return {
    ports: requiredPortsOf(options, 'ports'),
    connectMs: wholeNumber(options, 'timeout_ms', { least: 50, most: 60_000 }),
    answerMs: wholeNumber(options, 'answer_timeout_ms', { least: 50, most: 60_000 }),
    deviceSeconds: wholeNumber(options, 'device_seconds', { least: 1, most: 3_600 }),
    parallel: wholeNumber(options, 'parallel', { least: 1, most: 256 }),
    localAddress: localAddressOf(options),
    followDiscoveryServers: options.follow_discovery_servers === true,
    allowPlainPassword: options.allow_plain_password === true,
  }
}

/** The options of a call that has none. */
export const defaultOptions: Options = defaultOptionsOf(manifest)

/** `Place` is the address of a server, and the device below it if the target is a module. */
export type Place = { address: string; port: number; device: string | undefined }

/** Returns the place of an address. Throws UNAVAILABLE if the address is missing. */
export function placeOf({ ip_address: address, port = defaultPort, device }: Address = {}): Place {
  if (typeof address === 'string' && isIPv4(address) && isPort(port)) {
    return { address, port, device: typeof device === 'string' ? device : undefined }
  }
  throw new LinkError(
    'UNAVAILABLE',
    'The IP address of the OPC UA server is not known. Scan the range of the device first.',
  )
}

function isPort(port: unknown): port is number {
  return typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535
}
