import type { AuditEntry } from '@millwright/api/audit.ts'
import { canonicalJson } from '@millwright/api/canonical-json.ts'
import { Problem } from '@millwright/api/problem.ts'
import { bytesOfId, highestId, idBytes, idOfBytes, lowestId, lowestIdAt } from '../../platform/database/id.ts'
import type { Secrets } from '../../platform/secrets/secrets.ts'

export type Filters = {
  action?: string
  outcome?: string
  principal?: string
  target?: string
  requestId?: string
  /** The start of the time range (inclusive). */
  from?: string
  /** The end of the time range (exclusive). */
  to?: string
}

/**
 * The filters of a query in the form that the store needs. The time range is converted to a range of entry ids, because
 * ids are ordered by time.
 */
export type Selection = Pick<Filters, 'action' | 'principal' | 'target' | 'requestId'> & {
  outcome: AuditEntry['outcome'] | undefined
  fromId: string
  beforeId: string
  isEverything: boolean
}

export function selectionOf(filters: Filters): Selection {
  const { from, to, outcome, ...equal } = filters
  const isEverything = Object.values(filters).every((value) => value === undefined)
  return {
    ...equal,
    outcome: outcome as Selection['outcome'],
    fromId: from === undefined ? lowestId : lowestIdAt(millisecondsOf(from, 'from')),
    beforeId: to === undefined ? highestId : lowestIdAt(millisecondsOf(to, 'to')),
    isEverything,
  }
}

/**
 * Parses a time. Throws for times that match the pattern of the contract but do not exist, for example in a 13th month.
 */
function millisecondsOf(time: string, parameter: string): number {
  const milliseconds = Date.parse(time)
  if (!Number.isNaN(milliseconds)) return milliseconds
  const detail = `${time} is not a valid timestamp`
  throw new Problem('invalid_query', detail, { errors: [{ pointer: `/${parameter}`, code: 'invalid', detail }] })
}

const purpose = 'audit cursor'
const macBytes = 16

type Cursors = { next(lastId: string): string; read(cursor: string): string }

/**
 * Returns functions that create and read the cursors of one query of one tenant. `read` refuses cursors of another
 * query or another tenant, and cursors that this server did not create.
 */
export function cursorsFor(secrets: Secrets, query: { tenantId: string; filters: Filters }): Cursors {
  const context = canonicalJson({ tenantId: query.tenantId, ...query.filters })
  const message = (id: Buffer) => Buffer.concat([id, Buffer.from(context)])
  return {
    next(lastId) {
      const id = bytesOfId(lastId)
      return Buffer.concat([id, secrets.mac(purpose, message(id)).subarray(0, macBytes)]).toString('base64url')
    },
    read(cursor) {
      const bytes = Buffer.from(cursor, 'base64url')
      const id = bytes.subarray(0, idBytes)
      const mac = bytes.subarray(idBytes)
      if (mac.length !== macBytes || !secrets.isMac(purpose, message(id), mac)) {
        throw new Problem('invalid_cursor', 'Use the value of meta.nextCursor from a response to the same query')
      }
      return idOfBytes(id)
    },
  }
}
