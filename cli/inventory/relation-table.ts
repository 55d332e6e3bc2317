import { inventory, type Relation } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { quoted } from '../input/lookup.ts'
import type { Columns } from '../output/table.ts'
import type { Session } from '../session/session.ts'

export type Entity = Relation['subject']

export type Names = Map<string, string>

/**
 * Returns the columns of a table of relations. Assets are shown by name. An asset without a name, or one that the
 * caller cannot read, is shown by id.
 */
export function columnsWith(names: Names): Columns {
  const text = (entity: unknown) => names.get((entity as Entity).id) ?? entityText(entity as Entity)
  return {
    id: 'id',
    subject: ({ subject }) => text(subject),
    predicate: 'predicate',
    object: ({ object }) => text(object),
    source: 'source.type',
  }
}

/** The number of asset ids in one filter. It equals the maximum number of items on one page. */
const idsPerRequest = 100

async function readNames({ api }: Session, relations: readonly Relation[], names: Names): Promise<void> {
  names.clear()
  const ends = relations.flatMap(({ subject, object }) => [subject, object]).filter(({ type }) => type === 'asset')
  const ids = [...new Set(ends.map(({ id }) => id))]
  for (let from = 0; from < ids.length; from += idsPerRequest) {
    const some = ids.slice(from, from + idsPerRequest)
    const filter = `id in (${some.map(quoted).join(', ')})`
    const query = { filter, fields: 'id,name', limit: idsPerRequest, count: false }
    const { data } = await api(inventory).listAssets({ query })
    for (const { id, name } of data) if (name !== undefined) names.set(String(id), String(name))
  }
}

/**
 * Reads the names of the assets for text output. If the caller has no permission to read assets, the table shows ids.
 */
export async function readNamesIfAllowed(
  session: Session,
  relations: readonly Relation[],
  names: Names,
): Promise<void> {
  if (!session.output.isText) return
  await readNames(session, relations, names).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.code !== 'forbidden') throw error
  })
}

export function entityText({ type, id }: Entity): string {
  return type === 'asset' ? id : `node:${id}`
}
