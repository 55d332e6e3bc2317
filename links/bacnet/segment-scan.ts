import { openPermitSource } from '@millwright/link-sdk/network/permit-source.ts'
import type { Permits } from '@millwright/link-sdk/network/permits.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { link } from './link.ts'
import { manifest } from './manifest.ts'

/** Scans the segment that `segment.sh` creates with the default budget, and prints the results as JSON. Used by a test. */
const defaults = defaultOptionsOf(manifest)
const signal = new AbortController().signal
const log = { debug() {}, info() {}, warn() {}, error() {} }

for (const options of [{}, { broadcast: true, routers: true, collect_ms: 1_000 }]) {
  const taken: string[] = []
  using budgeted = openPermitSource({ manifest }).forCall({ signal })
  const permits: Permits = {
    take: async (request) => {
      taken.push(`${request.operation} ${request.address}`)
      return await budgeted.take(request)
    },
  }
  const call = {
    filters: [{ key: 'ip_range', operator: 'EQUAL' as const, value: '10.79.0.2-10.79.0.9' }],
    options: { ...defaults, ...options },
    targets: [],
    ...{ permits, signal, log },
    progress: () => undefined,
  }
  const results = await Array.fromAsync(link.discover(call))
  const assets = results.flatMap((one) => ('asset' in one ? [one.asset] : []))
  const errors = results.flatMap((one) => ('error' in one ? [one.error.message] : []))
  process.stdout.write(`${JSON.stringify({ assets, errors, taken })}\n`)
}
