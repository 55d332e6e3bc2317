import type { DiscoverCall, Target } from '@millwright/link-sdk/define-link.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { assetsIn, behindRouter, errorsIn, neighbours, silentLog } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { properties } from './properties.ts'
import { type ChangeAnswer, type SimulatedDevice, startSimulator } from './simulator.ts'

/** This file contains helpers of the tests of this link. */

export const defaults = defaultOptionsOf(manifest)

/** The options of scans of devices that do not answer to some requests. */
export const impatient = { timeout_ms: 200, collect_ms: 300 }

/** A device with all properties that the link reads. */
export const controller: SimulatedDevice = {
  instance: 1_234,
  vendorId: 7,
  properties: {
    '121': 'Siemens Building Technologies',
    '70': 'PXC4.E16',
    '44': 'FW=02.20.151',
    '12': 'AS 1.4',
    '77': 'AHU 3',
    '28': 'Air handling unit',
    '58': 'Roof',
    '372': 'SN-0815',
    '98': 1,
    '139': 19,
    '112': 0,
  },
}

export type ScanParameters = Partial<Pick<DiscoverCall, 'options' | 'targets' | 'signal' | 'permits' | 'progress'>> & {
  range?: string
  exclude?: string
  /** Whether the scanner is behind an IP router, so that MAC addresses are not known. */
  isRouted?: boolean
}

export function scan({ range = '127.0.60.1', exclude, options, targets = [], isRouted, ...rest }: ScanParameters) {
  const { signal = new AbortController().signal, permits = unlimitedPermits(), progress = () => undefined } = rest
  const filters = [
    { key: 'ip_range', operator: 'EQUAL' as const, value: range },
    ...(exclude === undefined ? [] : [{ key: 'exclude', operator: 'EQUAL' as const, value: exclude }]),
  ]
  const call = {
    filters,
    options: { ...defaults, timeout_ms: 10_000, collect_ms: 1_000, ...options },
    targets,
    progress,
    signal,
    permits,
    log: silentLog,
  }
  return discover(call, isRouted ? behindRouter : neighbours)
}

export const resultsOf = (parameters: ScanParameters) => Array.fromAsync(scan(parameters))

/** Scans one simulated device. */
export async function scanDevice(
  device: SimulatedDevice,
  { options, change, ...rest }: ScanParameters & { change?: ChangeAnswer } = {},
) {
  const place = { host: '127.0.60.1', ...(change === undefined ? {} : { change }) }
  await using simulator = await startSimulator(device, place)
  const results = await resultsOf({ ...rest, options: { ports: String(simulator.port), ...options } })
  return { results, assets: assetsIn(results), errors: errorsIn(results), simulator }
}

export function read(device: Partial<Target>, { isRouted = false } = {}) {
  const call = { device: { address: {}, identifiers: [], credentials: [], ...device }, keys: [], log: silentLog }
  const permits = unlimitedPermits()
  return properties({ ...call, signal: new AbortController().signal, permits }, isRouted ? behindRouter : neighbours)
}
