import { compareOids, indexBelow } from './oid.ts'
import type { Session, Varbind, VarbindValue } from './session.ts'
import { errorStatus, SnmpError } from './snmp-error.ts'

/** The maximum number of rows of a table. A device with more rows is reported, or the table is left out. */
export const mostRows = 4_096

/** The values of one answer. More values do not fit into one Ethernet frame. */
const valuesPerAnswer = 40

/** `Table` contains the rows of a table by index. Each row contains its values by column name. */
export type Table<Column extends string> = Map<string, Partial<Record<Column, VarbindValue>>>

type Cursor<Column extends string> = { name: Column; base: string; last: string; rows: number; isDone: boolean }

/**
 * Reads columns of a table, or of several tables with the same index. The OIDs of a device must increase, so the walk
 * ends also if the device answers forever.
 */
export async function readTable<Column extends string>(
  session: Session,
  columns: Readonly<Record<Column, string>>,
): Promise<Table<Column>> {
  const table: Table<Column> = new Map()
  const names = Object.keys(columns) as Column[]
  const cursors = names.map((name) => ({ name, base: columns[name], last: columns[name], rows: 0, isDone: false }))
  await walk(session, { cursors, table, repetitions: Math.floor(valuesPerAnswer / cursors.length) })
  return table
}

type Walk<Column extends string> = { cursors: Cursor<Column>[]; table: Table<Column>; repetitions: number }

async function walk<Column extends string>(session: Session, { cursors, table, ...rest }: Walk<Column>): Promise<void> {
  let { repetitions } = rest
  for (;;) {
    const open = cursors.filter(({ isDone }) => !isDone)
    if (open.length === 0) return
    try {
      const answer = await readNext(session, open, repetitions)
      take(open, answer, table)
    } catch (error) {
      // The agent does not give the rest of the table. The device is reported with the rows until then.
      if (!(error instanceof SnmpError && error.kind === 'status')) throw error
      if (error.status === errorStatus.noSuchName) return await walkSingly(session, open, table)
      if (error.status !== errorStatus.tooBig || repetitions === 1) return
      repetitions = Math.floor(repetitions / 2)
    }
  }
}

/** Version 1 reports the end of its data as an error of the whole request, so the columns are read separately. */
async function walkSingly<Column extends string>(
  session: Session,
  open: readonly Cursor<Column>[],
  table: Table<Column>,
): Promise<void> {
  if (open.length === 1) return
  for (const cursor of open) await walk(session, { cursors: [cursor], table, repetitions: valuesPerAnswer })
}

async function readNext(
  session: Session,
  open: readonly { last: string }[],
  repetitions: number,
): Promise<Varbind[][]> {
  const oids = open.map(({ last }) => last)
  if (session.version !== '1') return session.getBulk(oids, repetitions)
  return (await session.getNext(oids)).map((varbind) => [varbind])
}

function take<Column extends string>(
  open: readonly Cursor<Column>[],
  answer: readonly Varbind[][],
  table: Table<Column>,
): void {
  let taken = 0
  for (const [position, cursor] of open.entries()) {
    for (const varbind of answer[position] ?? []) {
      taken += 1
      if (!takeOne(cursor, varbind, table)) break
    }
  }
  if (taken === 0) throw new SnmpError('faulty', 'sends answers without values')
}

/** Stores one value. Returns false at the end of the column. */
function takeOne<Column extends string>(cursor: Cursor<Column>, { oid, value }: Varbind, table: Table<Column>) {
  const index = indexBelow(cursor.base, oid)
  if (value === undefined || index === undefined) {
    cursor.isDone = true
    return false
  }
  if (compareOids(oid, cursor.last) <= 0) throw new SnmpError('faulty', 'sends the rows of a table in the wrong order')
  cursor.rows += 1
  if (cursor.rows > mostRows) throw new SnmpError('limit', `has a table with more than ${mostRows} rows`)
  cursor.last = oid
  const row: Partial<Record<Column, VarbindValue>> = table.get(index) ?? {}
  row[cursor.name] = value
  table.set(index, row)
  return true
}
