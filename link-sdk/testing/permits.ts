import type { PermitRequest } from '@millwright/api/scan-budget.ts'
import type { Permits } from '../network/permits.ts'

/** Returns permits without limits, for tests. `taken` contains the requests in their order. */
export function unlimitedPermits(): Permits & { taken: PermitRequest[] } {
  const taken: PermitRequest[] = []
  return {
    taken,
    take: async (request) => {
      taken.push(request)
      return { [Symbol.dispose]: () => undefined }
    },
  }
}
