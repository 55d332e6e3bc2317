import type { Transaction } from '../../../platform/database/database.ts'
import { arrayOf, type Lexemes, rowset } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'
import { allLexemes } from '../../../platform/database/text-search.ts'
import type { AssetSet } from '../assets/listing.ts'
import { tokensIn } from './search-tokens.ts'

/**
 * Returns the prefix of all tokens of a tenant, so that an index look-up does not read the entries of other tenants. Two
 * tenants may have the same prefix. Their searches are slightly slower but correct, because each query also filters by
 * tenant.
 */
function prefixOf(tenantId: string): string {
  return tenantId.slice(-4)
}

/** Returns the `tsquery` of a search. Each of these tokens must be the beginning of a token of the asset. */
export function tokenQuery(tenantId: string, tokens: readonly string[]): string {
  return allLexemes(
    tokens.map((token) => `${prefixOf(tenantId)}${token}`),
    { isPrefix: true },
  )
}

const tokenRows = rowset<{ id: string; words: Lexemes }>({ id: 'uuid', words: 'tsvector' })
const insertion = `insert into asset_words as w (tenant_id, asset_id, words)
   select $1, r.id, r.words from ${tokenRows.rows}`
const insertStatement = statement(`${insertion} returning asset_id`)
const putStatement = statement(
  `${insertion}
   on conflict (tenant_id, asset_id) do update set words = excluded.words where w.words <> excluded.words`,
)

/** The text of an asset, as `searchLines` returns it. */
export type IndexedText = { id: string; lines: readonly string[] }

/**
 * Stores the search tokens of assets. New assets are inserted without a conflict check, which is cheaper. For an existing
 * asset, a row is written only if its tokens differ, because most changes of an asset do not change its tokens.
 */
export async function putTokens(
  tx: Transaction,
  { created, changed }: { created: readonly IndexedText[]; changed: readonly IndexedText[] },
): Promise<void> {
  const prefix = prefixOf(tx.tenantId)
  const values = (texts: readonly IndexedText[]) =>
    tokenRows.values(texts.map(({ id, lines }) => ({ id, words: { prefix, lexemes: tokensIn(lines) } })))
  await Promise.all([
    created.length > 0 && tx.run(insertStatement, ...values(created)),
    changed.length > 0 && tx.run(putStatement, ...values(changed)),
  ])
}

const deleteStatement = statement('delete from asset_words where tenant_id = $1 and asset_id = any($2::uuid[])')

export async function deleteTokens(tx: Transaction, assetIds: readonly string[]): Promise<void> {
  if (assetIds.length > 0) await tx.run(deleteStatement, arrayOf('uuid', assetIds))
}

/**
 * Returns the set of assets that match a token query (see `AssetSet`). `parameter` holds the query. For frequent tokens,
 * the planner sees the query, because the best plan depends on their frequency. For rare tokens, a sub-select hides the
 * query from the planner, because planning for each value would take several times as long as the search.
 */
export function assetsWithTokens(parameter: string, { areRare }: { areRare: boolean }): AssetSet {
  const where = (query: string) => `w.tenant_id = $1 and w.words @@ ${query}`
  const query = `${parameter}::tsquery`
  const ids = `select w.asset_id as id from asset_words w where ${where(areRare ? `(select ${query})` : query)}`
  return {
    ids,
    once: ids,
    has: `(select true from asset_words w where w.asset_id = a.id and ${where(query)} limit 1)`,
  }
}
