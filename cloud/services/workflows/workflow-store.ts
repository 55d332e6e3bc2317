import type { Workflow } from '@millwright/api/workflows.ts'
import { type Handle, type Transaction, violatedConstraint } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements for the workflows that the tenant created. */

type Row = { document: Workflow }

const findStatement = statement<Row>(`select document from workflows where tenant_id = $1 and name = $2`)
const shareStatement = statement<Row>(`select document from workflows where tenant_id = $1 and name = $2 for share`)
const lockStatement = statement<Row>(`select document from workflows where tenant_id = $1 and name = $2 for update`)

export async function findWorkflow(handle: Handle, name: string): Promise<Workflow | undefined> {
  return (await handle.row(findStatement, name))?.document
}

/** Returns a workflow and prevents its deletion until the end of the transaction. */
export async function shareWorkflow(tx: Transaction, name: string): Promise<Workflow | undefined> {
  return (await tx.row(shareStatement, name))?.document
}

/** Returns a workflow and prevents new jobs of it until the end of the transaction. */
export async function lockWorkflow(tx: Transaction, name: string): Promise<Workflow | undefined> {
  return (await tx.row(lockStatement, name))?.document
}

const findAllStatement = statement<Row>(
  `select document from workflows where tenant_id = $1 and name = any($2::text[]) order by name`,
)

export async function findWorkflows(handle: Handle, names: readonly string[]): Promise<Workflow[]> {
  return names.length === 0 ? [] : (await handle.rows(findAllStatement, names)).map(({ document }) => document)
}

const namesStatement = statement<{ name: string }>(`select name from workflows where tenant_id = $1 order by name`)

export async function listNames(handle: Handle): Promise<string[]> {
  return (await handle.rows(namesStatement)).map(({ name }) => name)
}

const insertStatement = statement(`insert into workflows (tenant_id, name, document) values ($1, $2, $3::json)`)

/** Inserts a workflow. Returns false when a workflow with this name exists. */
export async function insertWorkflow(tx: Transaction, workflow: Workflow): Promise<boolean> {
  try {
    await tx.run(insertStatement, workflow.name, jsonText(workflow))
    return true
  } catch (error) {
    if (violatedConstraint(error) !== undefined) return false
    throw error
  }
}

const inUseStatement = statement<{ id: string }>(
  `select id from workflow_jobs where tenant_id = $1 and workflow = $2 limit 1`,
)

export async function isInUse(tx: Transaction, name: string): Promise<boolean> {
  return (await tx.row(inUseStatement, name)) !== undefined
}

const deleteStatement = statement(`delete from workflows where tenant_id = $1 and name = $2`)

export async function deleteWorkflow(tx: Transaction, name: string): Promise<void> {
  await tx.run(deleteStatement, name)
}
