import { type discovery, discoveryLimits } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { showRun } from './discovery.ts'
import { listErrors, listFindings, type Outcome } from './finding-store.ts'
import { findDiscovery, findRun, type RunRow } from './store.ts'

export function reportHandlers({ database }: Context): Pick<Handlers<typeof discovery>, 'getReport'> {
  return {
    async getReport(
      { params: { jobId }, query: { limit = discoveryLimits.reportPage, offset = 0, run, outcome } },
      caller,
    ) {
      return database.read(caller, async (handle) => {
        const row = await findDiscovery(handle, jobId)
        const runId = run ?? row?.latestRunId ?? undefined
        const wanted = runId === undefined ? undefined : await findRun(handle, runId)
        if (row === undefined || wanted?.discoveryId !== jobId)
          throw new Problem('not_found', `There is no such run of the discovery ${jobId}`)
        const findings = await listFindings(handle, { runId: wanted.id, outcome }, { limit, offset })
        const errors = await listErrors(handle, wanted.id, { limit, offset })
        return {
          data: {
            run: showRun(wanted),
            findings: findings.map(({ name, ...finding }) => ({ ...finding, ...(name === null ? {} : { name }) })),
            errors,
            totalFindings: totalOf(wanted, outcome),
            totalErrors: wanted.errors,
          },
        }
      })
    },
  }
}

function totalOf({ found, gone, created, updated, unchanged }: RunRow, outcome: Outcome | undefined): number {
  const totals = { new: created, changed: updated, unchanged, gone }
  return outcome === undefined ? found + gone : totals[outcome]
}
