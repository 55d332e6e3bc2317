import { localAddressOf } from '@millwright/link-sdk/network/local-network.ts'
import { requiredPortsOf, wholeNumber } from '@millwright/link-sdk/network/range.ts'
import type { Options } from '@millwright/link-sdk/parameters.ts'

/** `ScanOptions` are the options of a discovery. */
export type ScanOptions = {
  ports: readonly number[]
  usesMulticast: boolean
  timeoutMs: number
  deviceSeconds: number
  parallel: number
  localAddress: string | undefined
}

export function scanOptionsOf(options: Options): ScanOptions {
  return {
    ports: requiredPortsOf(options, 'ports'),
    usesMulticast: options.multicast === true,
    timeoutMs: wholeNumber(options, 'timeout_ms', { least: 50, most: 30_000 }),
    deviceSeconds: wholeNumber(options, 'device_seconds', { least: 1, most: 3_600 }),
    parallel: wholeNumber(options, 'parallel', { least: 1, most: 256 }),
    localAddress: localAddressOf(options),
  }
}
