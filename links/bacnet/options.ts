import { isIPv4 } from 'node:net'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { localAddressOf } from '@millwright/link-sdk/network/local-network.ts'
import { requiredPortsOf, wholeNumber } from '@millwright/link-sdk/network/range.ts'
import type { Options } from '@millwright/link-sdk/parameters.ts'
import { highestInstance, type InstanceRange, type IpPlace, usualPort } from './codec.ts'

/** `ScanOptions` are the options of a discovery. */
export type ScanOptions = {
  ports: readonly number[]
  instances: InstanceRange
  withRouters: boolean
  withBroadcast: boolean
  /** The BBMD at which the link registers as a foreign device. */
  bbmd: IpPlace | undefined
  collectMs: number
  timeoutMs: number
  deviceSeconds: number
  parallel: number
  localAddress: string | undefined
}

export function scanOptionsOf(options: Options): ScanOptions {
  return {
    ports: requiredPortsOf(options, 'ports'),
    instances: instancesOf(options),
    withRouters: options.routers === true,
    withBroadcast: options.broadcast === true,
    bbmd: bbmdOf(options.bbmd),
    collectMs: wholeNumber(options, 'collect_ms', { least: 100, most: 60_000 }),
    timeoutMs: wholeNumber(options, 'timeout_ms', { least: 50, most: 30_000 }),
    deviceSeconds: wholeNumber(options, 'device_seconds', { least: 1, most: 3_600 }),
    parallel: wholeNumber(options, 'parallel', { least: 1, most: 256 }),
    localAddress: localAddressOf(options),
  }
}

function instancesOf(options: Options): InstanceRange {
  const low = wholeNumber(options, 'low_instance', { most: highestInstance })
  const high = wholeNumber(options, 'high_instance', { most: highestInstance })
  if (low <= high) return { low, high }
  throw invalid(`"low_instance" is ${low}, but must not be higher than "high_instance", which is ${high}.`)
}

function bbmdOf(value: unknown): IpPlace | undefined {
  const text = String(value ?? '').trim()
  if (text === '') return undefined
  const [address = '', port = String(usualPort), ...rest] = text.split(':')
  const isPort = /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535
  if (isIPv4(address) && isPort && rest.length === 0) return { address, port: Number(port) }
  throw invalid(`"bbmd" must be an IPv4 address such as 10.0.0.2 or 10.0.0.2:47808, but is "${text}".`)
}

function invalid(description: string): LinkError {
  return new LinkError('INVALID_ARGUMENT', description)
}
