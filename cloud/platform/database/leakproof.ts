import type { Client } from 'pg'

/**
 * The functions that are marked as leakproof. With row-level security, only leakproof operators can use an index. The
 * operator of full-text search returns only true or false and raises no errors, but PostgreSQL does not mark it. Only a
 * superuser can mark functions. Without the mark, a search reads more rows and returns the same result.
 */
const leakproofFunctions = ['pg_catalog.ts_match_vq(tsvector, tsquery)']

export async function markLeakproof(owner: Client): Promise<void> {
  const { rows } = await owner.query<{ name: string }>(
    `select f.name from unnest($1::text[]) as f (name) join pg_proc p on p.oid = f.name::regprocedure
     join pg_roles r on r.rolname = current_user where r.rolsuper and not p.proleakproof`,
    [leakproofFunctions],
  )
  for (const { name } of rows) await owner.query(`alter function ${name} leakproof`)
}
