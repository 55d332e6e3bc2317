import type { DiscoverCall, Target } from '@millwright/link-sdk/define-link.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { assetsIn, behindRouter, errorsIn, neighbours, silentLog } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { properties } from './properties.ts'
import { type SimulatedDevice, type SimulatedIdentity, startSimulator } from './simulator.ts'

/** This file contains helpers of the tests of this link. */

export const defaults = defaultOptionsOf(manifest)

export const adapter: SimulatedIdentity = {
  vendor: 1,
  type: 12,
  product: 166,
  revision: '11.2',
  serial: 0x00c0_ffee,
  name: '1756-EN2T/D',
}
export const controller: SimulatedIdentity = {
  vendor: 1,
  type: 14,
  product: 93,
  revision: '33.11',
  serial: 0x60a1_b2c3,
  name: '1756-L73/B LOGIX5573',
}

export type ScanParameters = {
  range?: string
  options?: DiscoverCall['options']
  targets?: Target[]
  signal?: AbortSignal
  permits?: DiscoverCall['permits']
  progress?: DiscoverCall['progress']
  isRouted?: boolean
}

export function scan({ range = '127.0.60.1', options, targets = [], isRouted, ...rest }: ScanParameters) {
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

export async function scanDevice(device: SimulatedDevice, { options, ...rest }: ScanParameters = {}) {
  await using simulator = await startSimulator(device, { host: '127.0.60.1' })
  const results = await resultsOf({ ...rest, options: { ports: String(simulator.port), ...options } })
  return { results, assets: assetsIn(results), errors: errorsIn(results), simulator }
}

export function readProperties(device: Partial<Target>, { isRouted = false, permits = unlimitedPermits() } = {}) {
  const target = { address: {}, identifiers: [], credentials: [], ...device }
  const call = { device: target, keys: [], log: silentLog, permits, signal: new AbortController().signal }
  return properties(call, isRouted ? behindRouter : neighbours)
}
