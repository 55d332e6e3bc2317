import type { Transaction } from '../../platform/database/database.ts'
import { rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'
import type { AssetSet } from './listing.ts'
import { wordsIn } from './search.ts'

/**
 * Words begin with a mark of their tenant, so that an index look-up does not pass through the words of others. Two
 * tenants with the same mark lose a little time, and nothing else: statements say whose rows they want.
 */
function marked(tenantId: string, word: string): string {
  return `'${tenantId.slice(-4)}${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

/** The words of a text as the database reads them. */
export function wordVector(tenantId: string, text: string): string {
  return [...wordsIn(text)].map((word) => marked(tenantId, word)).join(' ')
}

/** The question for assets that have words beginning with all of these. */
export function wordQuery(tenantId: string, words: readonly string[]): string {
  return words.map((word) => `${marked(tenantId, word)}:*`).join(' & ')
}

const put = rowset<{ id: string; words: string }>({ id: 'uuid', words: 'printed' })
const putStatement = statement(
  `insert into asset_words as w (tenant_id, asset_id, words)
   select $1, r.id, r.words::tsvector from ${put.rows}
   on conflict (tenant_id, asset_id) do update set words = excluded.words where w.words <> excluded.words`,
)

/** What these assets can be found by. Most changes of an asset leave its words as they are, and cost nothing here. */
export async function putWords(tx: Transaction, texts: readonly { id: string; text: string }[]): Promise<void> {
  const rows = texts.map(({ id, text }) => ({ id, words: wordVector(tx.tenantId, text) }))
  if (rows.length > 0) await tx.run(putStatement, ...put.values(rows))
}

/** The assets with such words, as a set: see `AssetSet`. The question is the parameter. */
export function assetsWithWords(parameter: string): AssetSet {
  const where = `w.tenant_id = $1 and w.words @@ ${parameter}::tsquery`
  const ids = `select w.asset_id as id from asset_words w where ${where}`
  return {
    ids,
    once: ids,
    has: `(select true from asset_words w where w.asset_id = a.id and ${where} limit 1)`,
  }
}
