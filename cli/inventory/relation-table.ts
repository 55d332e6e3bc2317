import { inventory, type Relation } from '@millwright/api/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { quoted } from '../input/lookup.ts'
import type { Columns } from '../output/table.ts'
import type { Session } from '../session/session.ts'

export type Entity = Relation['subject']

export type Names = Map<string, string>

/** People know assets by their names; where one has none, or may not be read, its id stands there. */
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

/** How many ids one filter may name: as many as one answer holds. */
const atOnce = 100

async function learnNames({ api }: Session, relations: readonly Relation[], names: Names): Promise<void> {
  names.clear()
  const ends = relations.flatMap(({ subject, object }) => [subject, object]).filter(({ type }) => type === 'asset')
  const ids = [...new Set(ends.map(({ id }) => id))]
  for (let from = 0; from < ids.length; from += atOnce) {
    const some = ids.slice(from, from + atOnce)
    const filter = `id in (${some.map(quoted).join(', ')})`
    const query = { filter, fields: 'id,name', limit: atOnce, count: false }
    const { data } = await api(inventory).listAssets({ query })
    for (const { id, name } of data) if (name !== undefined) names.set(String(id), String(name))
  }
}

/** Whoever may see relations, but no assets, sees ids. */
export async function learnSome(session: Session, relations: readonly Relation[], names: Names): Promise<void> {
  if (!session.output.isText) return
  await learnNames(session, relations, names).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.code !== 'forbidden') throw error
  })
}

export function entityText({ type, id }: Entity): string {
  return type === 'asset' ? id : `node:${id}`
}
