import { type discovery, discoveryLimits } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import { may } from '../../platform/access/rights.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { showRun } from './discovery.ts'
import { listErrors, listFindings, type Outcome } from './finding-store.ts'
import { findDiscoveries, findDiscovery, findRun, findRuns, type RunRow } from './store.ts'
import { isReadable, readableRuns, readableScope } from './visibility.ts'

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
      const scope = await readableScope(context, caller)
      const { runs, discoveries } = await database.read(caller, async (handle) => {
        const found = await findRuns(handle, data.ids)
        const ids = [...new Set(found.map((run) => run.discoveryId))]
        return { runs: found, discoveries: await findDiscoveries(handle, ids, scope) }
      })
      const readable = new Map(discoveries.map((row) => [row.id, row]))
      return {
        data: runs.flatMap(({ id, discoveryId, number, createdAt }) => {
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
