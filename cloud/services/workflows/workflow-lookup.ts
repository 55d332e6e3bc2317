import type { Workflow } from '@millwright/api/workflows.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { builtInWorkflows } from './built-in.ts'
import type { JobRow } from './job.ts'
import { findWorkflow, findWorkflows, shareWorkflow } from './workflow-store.ts'

/** Workflows by name, whether they came with the product or with the tenant. */

export async function lookUp(handle: Handle, name: string): Promise<Workflow | undefined> {
  return builtInWorkflows.get(name) ?? findWorkflow(handle, name)
}

/** The same for a new job: it stays until the transaction is over. */
export async function lookUpForJob(tx: Transaction, name: string): Promise<Workflow | undefined> {
  return builtInWorkflows.get(name) ?? shareWorkflow(tx, name)
}

/** The workflows of some jobs, which cannot be missing: while there is a job, its workflow stays. */
export async function workflowsOf(handle: Handle, rows: readonly JobRow[]): Promise<(row: JobRow) => Workflow> {
  const names = [...new Set(rows.map(({ workflow }) => workflow))].filter((name) => !builtInWorkflows.has(name))
  const own = new Map((await findWorkflows(handle, names)).map((workflow) => [workflow.name, workflow]))
  return ({ workflow: name }) => {
    const workflow = builtInWorkflows.get(name) ?? own.get(name)
    if (workflow === undefined) throw new Error(`The workflow ${name} is gone, but has jobs`)
    return workflow
  }
}

export async function workflowOf(handle: Handle, row: JobRow): Promise<Workflow> {
  return (await workflowsOf(handle, [row]))(row)
}
