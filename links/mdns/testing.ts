import type { DiscoverCall, Target } from '@millwright/link-sdk/define-link.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { assetsIn, behindRouter, errorsIn, neighbours, silentLog } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { properties } from './properties.ts'
import { type RunningSimulator, type SimulatedDevice, startSimulator } from './simulator.ts'

/** This file contains helpers of the tests of this link. */

const defaults = defaultOptionsOf(manifest)

export type ScanParameters = {
  range?: string
  options?: DiscoverCall['options']
  targets?: Target[]
  signal?: AbortSignal
  permits?: DiscoverCall['permits']
  progress?: DiscoverCall['progress']
  isRouted?: boolean
}

/** The address of the single device of most tests. */
export const host = '127.0.35.1'

export function scan({ range = host, options, targets = [], isRouted, ...rest }: ScanParameters) {
  const { signal = new AbortController().signal, permits = unlimitedPermits(), progress = () => undefined } = rest
  const call = {
    filters: [{ key: 'ip_range', operator: 'EQUAL' as const, value: range }],
    options: { ...defaults, timeout_ms: 10_000, ...options },
    targets,
    progress,
    signal,
    permits,
    log: silentLog,
  }
  return discover(call, isRouted ? behindRouter : neighbours)
}

export const resultsOf = (parameters: ScanParameters) => Array.fromAsync(scan(parameters))

/** Scans one simulated device. Devices that do not answer to some queries need a short `timeout_ms`. */
export async function scanDevice(
  device: SimulatedDevice,
  { options, answers, ...rest }: ScanParameters & { answers?: Parameters<typeof startSimulator>[1]['answers'] } = {},
) {
  await using simulator = await startSimulator(device, { host, ...(answers === undefined ? {} : { answers }) })
  const results = await resultsOf({ ...rest, options: { ports: String(simulator.port), ...options } })
  return { results, assets: assetsIn(results), errors: errorsIn(results), simulator }
}

export const queriesOf = ({ queries }: RunningSimulator) => queries.map(({ type, name }) => `${type} ${name}`)

export function read(device: Partial<Target>, isRouted = false) {
  const target = { address: {}, identifiers: [], credentials: [], ...device }
  const call = { device: target, keys: [], log: silentLog, signal: new AbortController().signal }
  return properties({ ...call, permits: unlimitedPermits() }, isRouted ? behindRouter : neighbours)
}
