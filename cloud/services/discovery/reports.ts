import { type discovery, discoveryLimits } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { showRun } from './discovery.ts'
import { countErrors, listErrors, listFindings, type Outcome } from './finding-store.ts'
import { type DiscoveryRow, findDiscoveries, findDiscovery, findRun, findRuns, type RunRow } from './store.ts'
import { isReadable, readableRuns, readableScope } from './visibility.ts'

type Operations = 'getReport' | 'describeRuns' | 'summarizeRuns'

export function reportHandlers(context: Context): Pick<Handlers<typeof discovery>, Operations> {
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
          findings: findings.map(({ name, lastRun, lastFoundAt, ...finding }) => ({
            ...finding,
            ...(name === null ? {} : { name }),
            ...(lastRun === null ? {} : { lastRun }),
            ...(lastFoundAt === null ? {} : { lastFoundTimestamp: lastFoundAt }),
          })),
          errors,
          totalFindings: totalOf(shown, outcome),
          totalErrors: run.errors,
        },
      }
    },

    async describeRuns({ body: { data } }, caller) {
      const found = await readable(caller, data.ids)
      return {
        data: found.map(({ run, row }) => {
          const { id, discoveryId, number, createdAt, startedAt } = run
          const { gatewayId, assetLinkId, deviceClass } = row
          const scanner = { gatewayId, assetLinkId, ...(deviceClass === null ? {} : { deviceClass }) }
          const started = startedAt === null ? {} : { startedTimestamp: startedAt }
          const scope = scopeOf(run, row)
          return { id, jobId: discoveryId, number, ...scanner, scope, createdTimestamp: createdAt, ...started }
        }),
      }
    },

    async summarizeRuns({ body: { data } }, caller) {
      const found = await readable(caller, data.ids)
      const { runs } = await readableRuns(
        context,
        caller,
        found.map(({ run }) => run),
      )
      const withErrors = runs.filter(({ errors, endedAt }) => errors > 0 && endedAt !== null).map(({ id }) => id)
      const causes = await database.read(caller, (handle) => countErrors(handle, withErrors))
      return {
        data: runs.map((run, index) => {
          const { found: devices, created, gone, comparedRun, errors, ...shown } = showRun(run)
          const { startedTimestamp, restartedTimestamp, endedTimestamp } = shown
          const row = found[index]?.row
          const errorCauses = causes
            .filter(({ runId }) => runId === run.id)
            .map(({ code, reason, count }) => ({ code, ...(reason === null ? {} : { reason }), count }))
          return {
            id: run.id,
            scope: scopeOf(run, row),
            ...{ found: devices, created, errors },
            ...(comparedRun !== undefined && { gone }),
            ...(errorCauses.length > 0 && { errorCauses }),
            ...(row !== undefined && { assetLinkId: row.assetLinkId, parameters: parameterKeysOf(run, row) }),
            ...(startedTimestamp !== undefined && { startedTimestamp }),
            ...(restartedTimestamp !== undefined && { restartedTimestamp }),
            ...(endedTimestamp !== undefined && { endedTimestamp }),
          }
        }),
      }
    },
  }

  /** Returns the runs that the caller can read, with their discoveries. */
  async function readable(caller: Caller, runIds: readonly string[]): Promise<{ run: RunRow; row: DiscoveryRow }[]> {
    if (!may(caller, 'glb_jobs_read')) return []
    const scope = await readableScope(context, caller)
    const { runs, discoveries } = await database.read(caller, async (handle) => {
      const found = await findRuns(handle, runIds)
      const ids = [...new Set(found.map((run) => run.discoveryId))]
      return { runs: found, discoveries: await findDiscoveries(handle, ids, scope) }
    })
    const rows = new Map(discoveries.map((row) => [row.id, row]))
    return runs.flatMap((run) => {
      const row = rows.get(run.discoveryId)
      return row === undefined ? [] : [{ run, row }]
    })
  }
}

/** Returns the values of the filters of a run, such as its IP range. A run that waits has the filters of its discovery. */
function scopeOf(run: Pick<RunRow, 'scope'>, row: Pick<DiscoveryRow, 'filters'> | undefined): string[] {
  const { filters } = run.scope ?? row ?? { filters: [] }
  return filters.map(({ value }) => String(value))
}

/** Returns the keys of the filters and options of a run. A run that waits has those of its discovery. */
function parameterKeysOf({ scope }: Pick<RunRow, 'scope'>, row: Pick<DiscoveryRow, 'filters' | 'options'>): string[] {
  const { filters, options } = scope ?? row
  return [...new Set([...filters, ...options].map(({ key }) => key))]
}

function totalOf({ found, gone, created, updated, unchanged }: RunRow, outcome: Outcome | undefined): number {
  const totals = { new: created, changed: updated, unchanged, gone }
  return outcome === undefined ? found + gone : totals[outcome]
}
