import { type discovery, discoveryLimits } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { readableAssets, readsAllAssets } from '../../platform/asset-visibility.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { showRun } from './discovery.ts'
import { type Finding, findFindings, listAllFindings, listErrors, listFindings, type Outcome } from './finding-store.ts'
import { findDiscovery, findRun, type RunRow } from './store.ts'
import { isReadable } from './visibility.ts'

type Counts = Partial<Pick<RunRow, 'found' | 'created' | 'updated' | 'unchanged' | 'gone'>>
type Wanted = { run: RunRow; outcome: Outcome | undefined; limit: number; offset: number }

export function reportHandlers(context: Context): Pick<Handlers<typeof discovery>, 'getReport'> {
  const { database } = context
  return {
    async getReport(
      { params: { jobId }, query: { limit = discoveryLimits.reportPage, offset = 0, run: runId, outcome } },
      caller,
    ) {
      const { row, run, errors } = await database.read(caller, async (handle) => {
        const discovered = await findDiscovery(handle, jobId)
        const id = runId ?? discovered?.latestRunId ?? undefined
        const found = id === undefined ? undefined : await findRun(handle, id)
        return {
          row: discovered,
          run: found,
          errors: found === undefined ? [] : await listErrors(handle, found.id, { limit, offset }),
        }
      })
      if (row === undefined || run?.discoveryId !== jobId || !(await isReadable(context, caller, row)))
        throw new Problem('not_found', `There is no such run of the discovery ${jobId}`)
      const { findings, total, counts } = await readableFindings(context, caller, { run, outcome, limit, offset })
      return {
        data: {
          run: showRun({ ...run, ...counts }),
          findings: findings.map(({ name, ...finding }) => ({ ...finding, ...(name === null ? {} : { name }) })),
          errors,
          totalFindings: total,
          totalErrors: run.errors,
        },
      }
    },
  }
}

/**
 * A page of the assets that a run found and the caller can read, and how many there are. For a caller who reads all assets
 * the total is counted with the run; for others the ids of the run are compared with the inventory, thousands at a time.
 */
async function readableFindings(
  context: Context,
  caller: Caller,
  { run, outcome, limit, offset }: Wanted,
): Promise<{ findings: Finding[]; total: number; counts: Counts }> {
  const { database } = context
  if (readsAllAssets(caller)) {
    const page = { runId: run.id, outcome }
    const findings = await database.read(caller, (handle) => listFindings(handle, page, { limit, offset }))
    return { findings, total: totalOf(run, outcome), counts: {} }
  }
  const all = await database.read(caller, (handle) => listAllFindings(handle, run.id))
  const ids = all.map(({ assetId }) => assetId)
  const readable = await readableAssets(context, caller, ids)
  const visible = all.filter(({ assetId }) => readable.has(assetId))
  const shown = visible.filter((one) => outcome === undefined || one.outcome === outcome).map(({ assetId }) => assetId)
  const page = shown.slice(offset, offset + limit)
  return {
    findings: await database.read(caller, (handle) => findFindings(handle, run.id, page)),
    total: shown.length,
    counts: countsOf(visible),
  }
}

/** The counts of a run as they are for a caller who does not read all assets: hidden assets are not counted. */
function countsOf(visible: readonly { outcome: Outcome }[]): Counts {
  const of = (outcome: Outcome) => visible.filter((one) => one.outcome === outcome).length
  const [created, updated, unchanged, gone] = [of('new'), of('changed'), of('unchanged'), of('gone')]
  return { found: created + updated + unchanged, created, updated, unchanged, gone }
}

function totalOf({ found, gone, created, updated, unchanged }: RunRow, outcome: Outcome | undefined): number {
  const totals = { new: created, changed: updated, unchanged, gone }
  return outcome === undefined ? found + gone : totals[outcome]
}
