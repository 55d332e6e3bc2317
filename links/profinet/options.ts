import { wholeNumber } from '@millwright/link-sdk/network/range.ts'
import { defaultOptionsOf, type Options } from '@millwright/link-sdk/parameters.ts'
import { longestSpreadMs } from './dcp.ts'
import { manifest } from './manifest.ts'

/** `ScanOptions` are the options of a discovery. */
export type ScanOptions = {
  requests: number
  spreadMs: number
  timeoutMs: number
  lldpSeconds: number
  readsRecords: boolean
  deviceSeconds: number
  parallel: number
  /** The name of the network interface. It is absent if the range selects the interfaces. */
  interfaceName: string | undefined
}

export function scanOptionsOf(options: Options): ScanOptions {
  const interfaceName = String(options.interface ?? '').trim()
  return {
    requests: wholeNumber(options, 'requests', { least: 1, most: 5 }),
    spreadMs: wholeNumber(options, 'spread_ms', { least: 10, most: longestSpreadMs }),
    timeoutMs: wholeNumber(options, 'timeout_ms', { least: 50, most: 30_000 }),
    lldpSeconds: wholeNumber(options, 'lldp_seconds', { least: 0, most: 120 }),
    readsRecords: options.read_records === true,
    deviceSeconds: wholeNumber(options, 'device_seconds', { least: 1, most: 3_600 }),
    parallel: wholeNumber(options, 'parallel', { least: 1, most: 256 }),
    interfaceName: interfaceName === '' ? undefined : interfaceName,
  }
}

/** The defaults of all options. */
export const defaultOptions: Options = defaultOptionsOf(manifest)
