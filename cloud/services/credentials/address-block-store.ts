import { credentialLimits } from '@millwright/api/credentials-shapes.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

const clearStatement = statement(`delete from credential_places where tenant_id = $1 and instance_id = $2`)

/**
 * Inserts the address blocks of an instance. The statement copies the schema, the product and the time of the last
 * change from the stored instance, so that they always match the instance.
 */
const insertStatement = statement(
  `insert into credential_places (tenant_id, block, instance_id, schema_id, resource_identifier, for_discovery, modified_at)
   select $1, b.block, i.id, i.schema_id, s.resource_identifier,
     i.asset_id is null and coalesce(i.purpose, 'discovery') = 'discovery', i.modified_at
   from unnest($3::text[]) as b (block), credential_instances i
   join credential_schemas s on s.tenant_id = $1 and s.id = i.schema_id
   where i.tenant_id = $1 and i.id = $2 returning block`,
)

/** Replaces the address blocks of an instance. */
export async function putAddressBlocks(tx: Transaction, instanceId: string, blocks: readonly string[]): Promise<void> {
  await tx.run(clearStatement, instanceId)
  await tx.run(insertStatement, instanceId, arrayOf('text', blocks))
}

/** A credential instance that applies to the addresses of a block. */
export type BlockInstance = { block: string; id: string; modifiedAt: string }

/**
 * The statements that return the most recently changed instances of each block, for a schema or for a product. The
 * newest instances for an address are among the newest instances of the blocks that contain the address. Each block
 * needs one index lookup, independent of the number of instances.
 */
const ofSchemaStatement = statement<BlockInstance>(recentOf('schema_id = $2'))
const ofProductStatement = statement<BlockInstance>(recentOf('resource_identifier = $2'))

function recentOf(condition: string): string {
  return `select b.block, r.instance_id as id, r.modified_at as "modifiedAt" from unnest($3::text[]) as b (block)
   cross join lateral (
     select p.instance_id, p.modified_at from credential_places p
     where p.tenant_id = $1 and p.${condition} and p.block = b.block and p.for_discovery
     order by p.modified_at desc, p.instance_id desc limit ${credentialLimits.selected}
   ) as r`
}

export function recentOfSchema(handle: Handle, schemaId: string, blocks: readonly string[]) {
  return handle.rows(ofSchemaStatement, schemaId, arrayOf('text', blocks))
}

export function recentOfProduct(handle: Handle, resourceIdentifier: string, blocks: readonly string[]) {
  return handle.rows(ofProductStatement, resourceIdentifier, arrayOf('text', blocks))
}
