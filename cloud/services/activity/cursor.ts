import { canonicalJson } from '@millwright/api/canonical-json.ts'
import type { ChangePosition } from '@millwright/api/inventory/changes.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Secrets } from '../../platform/secrets/secrets.ts'

/**
 * The position in the two lists that the activity merges: the last shown change of an asset and the last shown audit entry.
 * `to` is the end of the time range, so that the pages of a query without an end belong together.
 */
export type Position = { to: string; change?: ChangePosition; audit?: string }

const purpose = 'activity cursor'
const macBytes = 16

/** Returns functions that create and read the cursors of one query of one tenant. Cursors of other queries are refused. */
export function cursorsFor(secrets: Secrets, query: { tenantId: string; filters: object }) {
  const context = canonicalJson(query)
  const macOf = (text: string) => secrets.mac(purpose, Buffer.from(`${text}${context}`)).subarray(0, macBytes)
  return {
    write(position: Position): string {
      const text = JSON.stringify(position)
      return Buffer.concat([macOf(text), Buffer.from(text)]).toString('base64url')
    },
    read(cursor: string): Position {
      const bytes = Buffer.from(cursor, 'base64url')
      const text = bytes.subarray(macBytes).toString()
      if (!secrets.isMac(purpose, Buffer.from(`${text}${context}`), bytes.subarray(0, macBytes)))
        throw new Problem('invalid_cursor', 'Use the value of meta.nextCursor from a response to the same query')
      return JSON.parse(text)
    },
  }
}
