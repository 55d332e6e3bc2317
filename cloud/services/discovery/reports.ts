import { type discovery, discoveryLimits } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import { may } from '../../platform/access/rights.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { showRun } from './discovery.ts'
import { listErrors, listFindings, type Outcome } from './finding-store.ts'
import { type DiscoveryRow, findDiscoveries, findDiscovery, findRun, findRuns, type RunRow } from './store.ts'
import { isReadable, readableRuns } from './visibility.ts'

export function reportHandlers(context: Context): Pick<Handlers<typeof discovery>, 'getReport' | 'describeRuns'> {
  const { database } = context
  return {
    async getReport(
      { params: { jobId }, query: { limit = discoveryLimits.reportPage, offset = 0, run: runId, outcome } },
      caller,
    ) {
      const { row, run, errors } = await database.read(caller, async (handle) => {
        const discovered = await findDiscovery(handle, jobId)
        const id = runId ?? discovered?.latestRunId ?? undefined
        const run = id === undefined ? undefined : await findRun(handle, id)
        return {
          row: discovered,
          run,
          errors: run === undefined ? [] : await listErrors(handle, run.id, { limit, offset }),
        }
      })
      if (row === undefined || run?.discoveryId !== jobId || !(await isReadable(context, caller, row)))
        throw new Problem('not_found', `Discovery ${jobId} has no run${runId === undefined ? '' : ` ${runId}`}`)
      const { runs, among } = await readableRuns(context, caller, [run])
      const [shown = run] = runs
      const findings = await database.read(caller, (handle) =>
        listFindings(handle, { runId: run.id, outcome, among }, { limit, offset }),
      )
      return {
        data: {
          run: showRun(shown),
          findings: findings.map(({ name, ...finding }) => ({ ...finding, ...(name === null ? {} : { name }) })),
          errors,
          totalFindings: totalOf(shown, outcome),
          totalErrors: run.errors,
        },
      }
    },

    async describeRuns({ body: { data } }, caller) {
      if (!may(caller, 'glb_jobs_read')) return { data: [] }
      const found = await database.read(caller, async (handle) => {
        const runs = await findRuns(handle, data.ids)
        return { runs, discoveries: await findDiscoveries(handle, [...new Set(runs.map((run) => run.discoveryId))]) }
      })
      const readable = new Map<string, DiscoveryRow>()
      for (const row of found.discoveries) if (await isReadable(context, caller, row)) readable.set(row.id, row)
      return {
        data: found.runs.flatMap(({ id, discoveryId, number, createdAt }) => {
          const row = readable.get(discoveryId)
          if (row === undefined) return []
          const { gatewayId, assetLinkId, deviceClass } = row
          const scanner = { gatewayId, assetLinkId, ...(deviceClass === null ? {} : { deviceClass }) }
          return [{ id, jobId: discoveryId, number, ...scanner, createdTimestamp: createdAt }]
        }),
      }
    },
  }
}

function totalOf({ found, gone, created, updated, unchanged }: RunRow, outcome: Outcome | undefined): number {
  const totals = { new: created, changed: updated, unchanged, gone }
  return outcome === undefined ? found + gone : totals[outcome]
}
