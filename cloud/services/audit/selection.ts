import type { AuditEntry } from '@millwright/api/audit.ts'
import { Problem } from '@millwright/api/problem.ts'
import { canonical } from '../../platform/audit/chain.ts'
import { highestId, lowestId, lowestIdAt } from '../../platform/database/id.ts'
import type { Secrets } from '../../platform/secrets/secrets.ts'

export type Filters = {
  action?: string
  outcome?: string
  principal?: string
  target?: string
  requestId?: string
  /** Inclusive. */
  from?: string
  /** Exclusive. */
  to?: string
}

/** Filters as the store understands them: a span of time is a span of ids. */
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

/** The pattern of the contract lets a 13th month through. */
function millisecondsOf(time: string, parameter: string): number {
  const milliseconds = Date.parse(time)
  if (!Number.isNaN(milliseconds)) return milliseconds
  const detail = `${time} is no point in time`
  throw new Problem('invalid_query', detail, { errors: [{ pointer: `/${parameter}`, code: 'invalid', detail }] })
}

const purpose = 'audit cursor'
const macBytes = 16
const idBytes = 16

type Cursors = { next(lastId: string): string; read(cursor: string): string }

/** Cursors of one query of one tenant: those of another do not fit, and nobody can make one up. */
export function cursorsFor(secrets: Secrets, query: { tenantId: string; filters: Filters }): Cursors {
  const context = canonical({ tenantId: query.tenantId, ...query.filters })
  const message = (id: Buffer) => Buffer.concat([id, Buffer.from(context)])
  return {
    next(lastId) {
      const id = Buffer.from(lastId.replaceAll('-', ''), 'hex')
      return Buffer.concat([id, secrets.mac(purpose, message(id)).subarray(0, macBytes)]).toString('base64url')
    },
    read(cursor) {
      const bytes = Buffer.from(cursor, 'base64url')
      const id = bytes.subarray(0, idBytes)
      const given = bytes.subarray(idBytes)
      if (given.length !== macBytes || !secrets.isMac(purpose, message(id), given)) {
        throw new Problem('invalid_cursor', 'Take the cursor from meta.nextCursor of the same query')
      }
      return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    },
  }
}
