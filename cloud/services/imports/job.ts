import { fileJobStates, putPlatformJob } from '../../platform/platform-job.ts'
import type { Context } from '../../platform/service.ts'
import { type ImportRow, setReported } from './import-store.ts'
import { progressOf } from './progress.ts'

/**
 * Creates or updates the job of an import. An import does not depend on its job: if the job cannot be written now, the next
 * change of the import writes it. The end of an import is reported again until the job has it.
 */
export async function reportJob(context: Context, { tenantId }: { tenantId: string }, row: ImportRow): Promise<void> {
  const { id, fileName, dryRun, jobId, principalId, principalName, state, problem } = row
  const { created, updated, unchanged, failed } = row
  const verb = dryRun ? 'would be ' : ''
  const counts = `${verb}created: ${created}, ${verb}updated: ${updated}, unchanged: ${unchanged}, failed: ${failed}`
  try {
    await putPlatformJob(
      context,
      { tenantId },
      {
        id: jobId,
        workflow: 'file-import',
        principalId,
        definition: { importId: id, fileName, dryRun, askedBy: principalName },
        state: fileJobStates[state],
        progress: progressOf(row),
        message: problem?.detail ?? counts,
      },
    )
    if (state !== 'queued' && state !== 'running')
      await context.database.transaction({ tenantId }, (tx) => setReported(tx, { id, jobId }))
  } catch (error) {
    context.log.warn({ error, import: id, job: jobId }, 'The job of an import could not be written')
  }
}
