import type { Workflow } from '@millwright/api/workflows.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { builtInWorkflows } from './built-in.ts'
import type { JobRow } from './job.ts'
import { findWorkflow, findWorkflows, shareWorkflow } from './workflow-store.ts'

/** Functions that find workflows by name: the built-in workflows and those of the tenant. */

export async function lookUp(handle: Handle, name: string): Promise<Workflow | undefined> {
  return builtInWorkflows.get(name) ?? findWorkflow(handle, name)
}

/** Finds a workflow for a new job and prevents the deletion of the workflow until the end of the transaction. */
export async function lookUpForJob(tx: Transaction, name: string): Promise<Workflow | undefined> {
  return builtInWorkflows.get(name) ?? shareWorkflow(tx, name)
}

/** Returns the workflows of jobs. They always exist, because a workflow with jobs cannot be deleted. */
export async function workflowsOf(handle: Handle, rows: readonly JobRow[]): Promise<(row: JobRow) => Workflow> {
  const names = [...new Set(rows.map(({ workflow }) => workflow))].filter((name) => !builtInWorkflows.has(name))
  const own = new Map((await findWorkflows(handle, names)).map((workflow) => [workflow.name, workflow]))
  return ({ workflow: name }) => {
    const workflow = builtInWorkflows.get(name) ?? own.get(name)
    if (workflow === undefined) throw new Error(`Workflow ${name} does not exist, but has jobs`)
    return workflow
  }
}

export async function workflowOf(handle: Handle, row: JobRow): Promise<Workflow> {
  return (await workflowsOf(handle, [row]))(row)
}
