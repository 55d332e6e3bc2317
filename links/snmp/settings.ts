import { localAddressOf } from '@millwright/link-sdk/network/local-network.ts'
import { requiredPortsOf, wholeNumber } from '@millwright/link-sdk/network/range.ts'
import type { Options } from '@millwright/link-sdk/parameters.ts'
import type { ReadSettings } from './contact.ts'

export type ScanSettings = ReadSettings & { ports: number[]; parallel: number }

/** The settings of a read of one device, which has no options. It ends before the gateway stops waiting. */
export const readSettings: ReadSettings = { timeoutMs: 1_000, deviceSeconds: 15, withNeighbours: true }

/** Returns the settings that the options of a discovery select. */
export function settingsOf(options: Options): ScanSettings {
  return {
    ports: requiredPortsOf(options, 'port'),
    timeoutMs: wholeNumber(options, 'timeout_ms', { least: 50, most: 30_000 }),
    deviceSeconds: wholeNumber(options, 'device_seconds', { least: 1, most: 600 }),
    parallel: wholeNumber(options, 'parallel', { least: 1, most: 1_024 }),
    withNeighbours: options.neighbours !== false,
    localAddress: localAddressOf(options),
  }
}
