import type { DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { openPermitSource } from '@millwright/link-sdk/network/permit-source.ts'
import type { Permits } from '@millwright/link-sdk/network/permits.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { defaultOptions } from './options.ts'

/** Scans the segment that `segment.sh` creates with the default budget, and prints the result as JSON. Used by a test. */
const signal = new AbortController().signal
const log = { debug() {}, info() {}, warn() {}, error() {} }
const counts: Record<string, number> = {}
using budgeted = openPermitSource({ manifest }).forCall({ signal })
const permits: Permits = {
  take: async (request) => {
    const permit = await budgeted.take(request)
    const key = `${request.protocol} ${request.operation}`
    counts[key] = (counts[key] ?? 0) + 1
    return permit
  },
}
const startedMs = performance.now()
const results: DiscoveryResult[] = await Array.fromAsync(
  discover({
    filters: [{ key: 'ip_range', operator: 'EQUAL', value: '10.77.0.1-10.77.0.254' }],
    options: { ...defaultOptions, icmp: false, reverse_dns: false },
    targets: [],
    permits,
    signal,
    log,
    progress: () => undefined,
  }),
)
const result = {
  assets: results.flatMap((one) => ('asset' in one ? [one.asset] : [])),
  errors: results.flatMap((one) => ('error' in one ? [one.error.message] : [])),
  permits: counts,
  milliseconds: Math.round(performance.now() - startedMs),
}
process.stdout.write(JSON.stringify(result))
