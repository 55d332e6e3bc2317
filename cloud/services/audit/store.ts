import type { AuditEntry } from '@millwright/api/audit.ts'
import type { Link } from '../../platform/audit/chain.ts'
import { contentColumns } from '../../platform/audit/store.ts'
import type { Handle } from '../../platform/database/database.ts'
import { type Statement, statement } from '../../platform/database/statement.ts'
import type { Selection } from './selection.ts'

/**
 * The filters that are compared for equality, each with its column. The parameters of a statement have the same order.
 */
const columns = { action: 'action', principal: 'principal_id', target: 'target', requestId: 'request_id' } as const

type Column = keyof typeof columns

const columnNames = Object.keys(columns) as Column[]

const statements = new Map<string, Statement>()

/**
 * Returns the statement for one combination of filters. The statement contains only the conditions of these filters,
 * because `$n is null or …` prevents the use of an index. There are few combinations, and each is prepared once.
 * Outcomes are literals, so that PostgreSQL can use the partial index of failed actions.
 */
function filtered<Row>(selection: Selection, build: (where: string, next: number) => string): Statement<Row> {
  const values = columnNames.filter((name) => selection[name] !== undefined)
  const conditions = values.map((name, index) => ` and e.${columns[name]} = $${index + 4}`)
  const outcome = selection.outcome === undefined ? '' : ` and e.outcome = '${selection.outcome}'`
  const where = `e.tenant_id = $1 and e.id >= $2 and e.id < $3${conditions.join('')}${outcome}`
  const text = build(where, values.length + 4)
  const cached = statements.get(text) ?? statement<Row>(text)
  statements.set(text, cached)
  return cached as Statement<Row>
}

function valuesOf(selection: Selection): unknown[] {
  const values = columnNames.map((name) => selection[name]).filter((value) => value !== undefined)
  return [selection.fromId, selection.beforeId, ...values]
}

export const entryColumns = `e.id, e.time, e.sequence, e.action, e.outcome, e.principal_id as principal,
  e.principal_name as "principalName", e.principal_kind as "principalKind", e.target, e.request_id as "requestId",
  e.address, e.detail`

/** Returns entries, newest first. */
export function listEntries(handle: Handle, selection: Selection, page: { limit: number; offset: number }) {
  const statement = filtered<AuditEntry>(
    selection,
    (where, next) =>
      `select ${entryColumns} from audit_entries e where ${where} order by e.id desc limit $${next} offset $${next + 1}`,
  )
  return handle.rows(statement, ...valuesOf(selection), page.limit, page.offset)
}

export async function countEntries(handle: Handle, selection: Selection): Promise<number> {
  if (selection.isEverything) return (await handle.row(countAllStatement))?.count ?? 0
  const statement = filtered<{ count: number }>(
    selection,
    (where) => `select count(*) as count from audit_entries e where ${where}`,
  )
  return (await handle.row(statement, ...valuesOf(selection)))?.count ?? 0
}

/**
 * Counts all entries without a scan of the table. The sequence number of the last sealed entry is the number of sealed
 * entries, because entries are never deleted. The number of unsealed entries is small.
 */
const countAllStatement = statement<{ count: number }>(
  `select coalesce((select h.sequence from audit_heads h where h.tenant_id = $1), 0)
          + (select count(*) from audit_entries e where e.tenant_id = $1 and e.sequence is null) as count`,
)

const findEntryStatement = statement<AuditEntry>(
  `select ${entryColumns} from audit_entries e where e.tenant_id = $1 and e.id = $2`,
)

export function findEntry(handle: Handle, id: string): Promise<AuditEntry | undefined> {
  return handle.row(findEntryStatement, id)
}

/** Returns the matching entries of one section of the chain, each with the hash of the previous entry. */
export function listLinks(handle: Handle, selection: Selection, stretch: { after: number; upTo: number }) {
  const statement = filtered<Link>(
    selection,
    (where, next) =>
      `select ${contentColumns}, e.sequence, encode(e.hash, 'hex') as hash,
              coalesce((select encode(p.hash, 'hex') from audit_entries p
                        where p.tenant_id = $1 and p.sequence = e.sequence - 1), repeat('0', 64)) as "previousHash"
       from audit_entries e
       where ${where} and e.sequence > $${next} and e.sequence <= $${next + 1} order by e.sequence`,
  )
  return handle.rows(statement, ...valuesOf(selection), stretch.after, stretch.upTo)
}
