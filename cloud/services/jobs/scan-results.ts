import { discovery, discoveryLimits } from '@millwright/api/discovery.ts'
import type { AnyJob, ScanJobResult } from '@millwright/api/jobs.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'

/** Adds the results of their runs to the jobs of scans. A scan that the caller cannot read has no result. */
export async function withScanResults<Job extends AnyJob>(
  { peers }: Pick<Context, 'peers'>,
  caller: Caller,
  jobs: readonly Job[],
): Promise<Job[]> {
  const ids = [...new Set(jobs.flatMap(({ runId }) => runId ?? []))]
  const results = new Map<string, ScanJobResult>()
  for (let start = 0; start < ids.length; start += discoveryLimits.describedRuns) {
    const batch = ids.slice(start, start + discoveryLimits.describedRuns)
    const { data } = await peers(discovery, caller).summarizeRuns({ body: { data: { ids: batch } } })
    for (const { id, ...result } of data) results.set(id, result)
  }
  return jobs.map((job) => {
    const scan = results.get(job.runId ?? '')
    return scan === undefined ? job : { ...job, scan }
  })
}
