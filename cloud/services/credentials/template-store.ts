import type { Handle, Transaction } from '../../platform/database/database.ts'
import { dynamicStatement, statement } from '../../platform/database/statement.ts'
import { fromInstances, type InstanceRow, instanceColumns } from './instance-store.ts'

export type TemplateRow = {
  id: string
  name: string
  description: string | null
  instances: number
  version: number
  createdBy: string
  createdAt: string
  modifiedAt: string
}

const columns = `t.id, t.name, t.description, t.version, t.created_by as "createdBy", t.created_at as "createdAt",
  t.modified_at as "modifiedAt", (select count(*) from credential_template_instances m
    where m.tenant_id = $1 and m.template_id = t.id) as instances`

const insertStatement = statement(
  `insert into credential_templates (tenant_id, id, name, description, created_by) values ($1, $2, $3, $4, $5)`,
)

export async function insertTemplate(
  tx: Transaction,
  { id, name, description, createdBy }: Pick<TemplateRow, 'id' | 'name' | 'description' | 'createdBy'>,
): Promise<void> {
  await tx.run(insertStatement, id, name, description, createdBy)
}

const findStatement = statement<TemplateRow>(
  `select ${columns} from credential_templates t where t.tenant_id = $1 and t.id = $2`,
)
const lockStatement = statement<TemplateRow>(
  `select ${columns} from credential_templates t where t.tenant_id = $1 and t.id = $2 for update of t`,
)

const holdStatement = statement<TemplateRow>(
  `select ${columns} from credential_templates t where t.tenant_id = $1 and t.id = $2 for key share of t`,
)

export function findTemplate(handle: Handle, id: string): Promise<TemplateRow | undefined> {
  return handle.row(findStatement, id)
}

export function lockTemplate(tx: Transaction, id: string): Promise<TemplateRow | undefined> {
  return tx.row(lockStatement, id)
}

/** Returns the template and prevents its deletion until the end of the transaction. */
export function holdTemplate(tx: Transaction, id: string): Promise<TemplateRow | undefined> {
  return tx.row(holdStatement, id)
}

export async function listTemplates(
  handle: Handle,
  name: string | undefined,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: TemplateRow[]; total: number }> {
  const values = name === undefined ? [] : [name]
  const where = `t.tenant_id = $1${name === undefined ? '' : ' and t.name = $2'}`
  const rows = await handle.rows(
    dynamicStatement<TemplateRow>(
      `select ${columns} from credential_templates t where ${where}
       order by t.name, t.id limit $${values.length + 2} offset $${values.length + 3}`,
    ),
    ...values,
    limit,
    offset,
  )
  const counted = await handle.row(
    dynamicStatement<{ total: number }>(`select count(*) as total from credential_templates t where ${where}`),
    ...values,
  )
  return { rows, total: counted?.total ?? 0 }
}

const updateStatement = statement(
  `update credential_templates set name = $3, description = $4, version = version + 1, modified_at = now()
   where tenant_id = $1 and id = $2`,
)

export async function updateTemplate(
  tx: Transaction,
  { id, name, description }: Pick<TemplateRow, 'id' | 'name' | 'description'>,
): Promise<void> {
  await tx.run(updateStatement, id, name, description)
}

const deleteStatement = statement(`delete from credential_templates where tenant_id = $1 and id = $2`)

export async function deleteTemplate(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}

const mapStatement = statement<{ id: string }>(
  `insert into credential_template_instances (tenant_id, template_id, instance_id) values ($1, $2, $3)
   on conflict do nothing returning instance_id as id`,
)
const unmapStatement = statement(
  `delete from credential_template_instances where tenant_id = $1 and template_id = $2 and instance_id = $3`,
)

/** Maps an instance to a template. Returns false when the instance is already mapped. */
export async function mapInstance(tx: Transaction, templateId: string, instanceId: string): Promise<boolean> {
  return (await tx.row(mapStatement, templateId, instanceId)) !== undefined
}

/** Removes the mapping of an instance. Returns false when the instance is not mapped. */
export async function unmapInstance(tx: Transaction, templateId: string, instanceId: string): Promise<boolean> {
  return (await tx.run(unmapStatement, templateId, instanceId)) > 0
}

const instancesStatement = statement<InstanceRow>(
  `select ${instanceColumns} ${fromInstances}
   join credential_template_instances m on m.tenant_id = $1 and m.instance_id = i.id
   where i.tenant_id = $1 and m.template_id = $2 order by m.mapped_at, i.id limit $3 offset $4`,
)

export function listTemplateInstances(
  handle: Handle,
  templateId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<InstanceRow[]> {
  return handle.rows(instancesStatement, templateId, limit, offset)
}

const ofInstanceStatement = statement<{ id: string; name: string }>(
  `select t.id, t.name from credential_template_instances m
   join credential_templates t on t.tenant_id = $1 and t.id = m.template_id
   where m.tenant_id = $1 and m.instance_id = $2 order by t.name, t.id limit $3`,
)

export function templatesOf(handle: Handle, instanceId: string, limit: number) {
  return handle.rows(ofInstanceStatement, instanceId, limit)
}

const idsStatement = statement<{ id: string }>(
  `select i.id ${fromInstances}
   join credential_template_instances m on m.tenant_id = $1 and m.instance_id = i.id
   where i.tenant_id = $1 and m.template_id = $2 and s.resource_identifier = $3 and i.asset_id is null
   order by i.modified_at desc, i.id desc limit $4`,
)

/** Returns the ids of the instances of a template for a product, those that changed last first. */
export async function instanceIdsOfTemplate(
  handle: Handle,
  templateId: string,
  resourceIdentifier: string,
  limit: number,
): Promise<string[]> {
  return (await handle.rows(idsStatement, templateId, resourceIdentifier, limit)).map(({ id }) => id)
}
