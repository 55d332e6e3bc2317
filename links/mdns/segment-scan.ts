import { PermitIssuer } from '@millwright/api/permit-issuer.ts'
import { defaultBudget, type ScanBudget } from '@millwright/api/scan-budget.ts'
import type { DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { arpTable } from '@millwright/link-sdk/network/neighbours.ts'
import { PermitRefusedError, type Permits } from '@millwright/link-sdk/network/permits.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'

/** Scans the segment that `segment.sh` creates several times, and prints the results as JSON. Used by a test. */
const signal = new AbortController().signal
const log = { debug() {}, info() {}, warn() {}, error() {} }
const defaults = defaultOptionsOf(manifest)

type ScanParameters = { range: string; multicast: boolean; budget?: Partial<ScanBudget> }

async function scan({ range, multicast, budget }: ScanParameters) {
  const issuer = new PermitIssuer({ ...defaultBudget, ...budget })
  const counts: Record<string, number> = {}
  const permits: Permits = {
    take: async (request) => {
      const permit = await issuer.take(request, { signal }).catch((error) => {
        throw new PermitRefusedError(error.reason, error.message)
      })
      const key = `${request.address} ${request.operation}`
      counts[key] = (counts[key] ?? 0) + 1
      return permit
    },
  }
  const results: DiscoveryResult[] = await Array.fromAsync(
    discover(
      {
        filters: [{ key: 'ip_range', operator: 'EQUAL', value: range }],
        options: { ...defaults, timeout_ms: 2_000, multicast },
        targets: [],
        permits,
        signal,
        log,
        progress: () => undefined,
      },
      arpTable,
    ),
  )
  return {
    assets: results.flatMap((one) => ('asset' in one ? [one.asset] : [])),
    errors: results.flatMap((one) => ('error' in one ? [one.error.message] : [])),
    permits: counts,
  }
}

const range = '10.78.0.2-10.78.0.6'
const result = {
  unicast: await scan({ range, multicast: false }),
  multicast: await scan({ range, multicast: true }),
  part: await scan({ range: '10.78.0.3', multicast: true }),
  excluded: await scan({ range, multicast: true, budget: { excludedAddresses: ['10.78.0.2'] } }),
}
process.stdout.write(JSON.stringify(result))
