import type { Transaction } from '../../../platform/database/database.ts'
import { arrayOf, rowset, type Words } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { AssetSet } from '../assets/listing.ts'
import { wordsIn } from './search-tokens.ts'

/**
 * Words begin with a mark of their tenant, so that an index look-up does not pass through the words of others. Two
 * tenants with the same mark lose a little time, and nothing else: statements say whose rows they want.
 */
function markOf(tenantId: string): string {
  return tenantId.slice(-4)
}

/** The question for assets that have words beginning with all of these. */
export function wordQuery(tenantId: string, words: readonly string[]): string {
  const quoted = (word: string) => word.replaceAll('\\', '\\\\').replaceAll("'", "''")
  return words.map((word) => `'${markOf(tenantId)}${quoted(word)}':*`).join(' & ')
}

const put = rowset<{ id: string; words: Words }>({ id: 'uuid', words: 'tsvector' })
const putStatement = statement(
  `insert into asset_words as w (tenant_id, asset_id, words)
   select $1, r.id, r.words from ${put.rows}
   on conflict (tenant_id, asset_id) do update set words = excluded.words where w.words <> excluded.words`,
)

/** What these assets can be found by. Most changes of an asset leave its words as they are, and cost nothing here. */
export async function putWords(tx: Transaction, texts: readonly { id: string; text: string }[]): Promise<void> {
  const prefix = markOf(tx.tenantId)
  const rows = texts.map(({ id, text }) => ({ id, words: { prefix, words: [...wordsIn(text)] } }))
  if (rows.length > 0) await tx.run(putStatement, ...put.values(rows))
}

const deleteStatement = statement('delete from asset_words where tenant_id = $1 and asset_id = any($2::uuid[])')

export async function deleteWords(tx: Transaction, assetIds: readonly string[]): Promise<void> {
  if (assetIds.length > 0) await tx.run(deleteStatement, arrayOf('uuid', assetIds))
}

/**
 * The assets with such words, as a set: see `AssetSet`. The question is the parameter. How to find frequent words depends
 * on how frequent they are; for rare ones the planner is not shown what they are, since it would plan for each of them,
 * which takes several times as long as to find it.
 */
export function assetsWithWords(parameter: string, { areRare }: { areRare: boolean }): AssetSet {
  const where = (question: string) => `w.tenant_id = $1 and w.words @@ ${question}`
  const question = `${parameter}::tsquery`
  const ids = `select w.asset_id as id from asset_words w where ${where(areRare ? `(select ${question})` : question)}`
  return {
    ids,
    once: ids,
    has: `(select true from asset_words w where w.asset_id = a.id and ${where(question)} limit 1)`,
  }
}
