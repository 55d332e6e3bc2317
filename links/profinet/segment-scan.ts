import { json } from 'node:stream/consumers'
import type { DiscoverCall, DiscoveryResult, PropertyValues, Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { segments } from '@millwright/link-sdk/network/local-network.ts'
import { arpTable } from '@millwright/link-sdk/network/neighbours.ts'
import { openPermitSource } from '@millwright/link-sdk/network/permit-source.ts'
import type { Permits } from '@millwright/link-sdk/network/permits.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { defaultOptions } from './options.ts'
import { properties } from './properties.ts'
import { linuxEthernet } from './raw-ethernet.ts'

/*
 * A process that scans a segment with the default budget, or reads one device. A test runs it in a network namespace. It
 * reads a `SegmentCall` from standard input, and prints a `SegmentResult`, both as JSON.
 */

export type SegmentCall = {
  range?: string
  options?: DiscoverCall['options']
  /** The device to read. Without it, the range is scanned. */
  device?: Partial<Target>
  /** The time after which the call is canceled. */
  cancelAfterMs?: number
}

export type SegmentResult = {
  results: DiscoveryResult[]
  values?: PropertyValues
  /** The error that ended the call. */
  failure?: { code: string; message: string }
  permits: number
  /** The time from the cancellation to the end of the call. */
  endedMs?: number
}

const call = (await json(process.stdin)) as SegmentCall
const canceling = new AbortController()
const { signal } = canceling
const log = { debug() {}, info() {}, warn() {}, error() {} }
using budgeted = openPermitSource({ manifest }).forCall({ signal })
const result: SegmentResult = { results: [], permits: 0 }
const permits: Permits = {
  take: async (request) => {
    const permit = await budgeted.take(request)
    result.permits += 1
    return permit
  },
}
const surroundings = { ethernet: linuxEthernet, segments, neighbours: arpTable }
let canceledMs = 0
const cancel = () => {
  canceledMs = performance.now()
  canceling.abort()
}
const canceler = call.cancelAfterMs === undefined ? undefined : setTimeout(cancel, call.cancelAfterMs)
try {
  if (call.device === undefined) await scan()
  else {
    const device = { address: {}, identifiers: [], credentials: [], ...call.device }
    result.values = await properties({ device, keys: [], permits, signal, log }, surroundings)
  }
} catch (error) {
  const { message } = error as Error
  result.failure = { code: error instanceof LinkError ? error.code : (error as Error).name, message }
}
clearTimeout(canceler)
if (signal.aborted) result.endedMs = performance.now() - canceledMs
process.stdout.write(JSON.stringify(result, withMessages))

async function scan(): Promise<void> {
  const filters = [{ key: 'ip_range', operator: 'EQUAL' as const, value: call.range ?? '' }]
  const options = { ...defaultOptions, ...call.options }
  const parameters = { filters, options, targets: [], permits, signal, log, progress: () => undefined }
  for await (const one of discover(parameters, surroundings)) result.results.push(one)
}

/** JSON does not contain the message of an error. */
function withMessages(_key: string, value: unknown): unknown {
  return value instanceof LinkError ? { code: value.code, message: value.message } : value
}
