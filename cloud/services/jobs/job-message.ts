import type { AnyJob } from '@millwright/api/jobs.ts'
import type { EventRow } from '../../platform/events/store.ts'

type JobFilter = { type?: string; gatewayId?: string }

/** Returns a filter for events of the requested jobs. */
export function jobSelection({ type, gatewayId }: JobFilter): (event: Pick<EventRow, 'type' | 'data'>) => boolean {
  return (event) => {
    if (!event.type.startsWith('workflows.job.')) return false
    const job = event.data.job as AnyJob
    return (type ?? job.type) === job.type && (gatewayId ?? job.gatewayId) === job.gatewayId
  }
}

/** Formats the change or the deletion of a job as a server-sent event. */
export function jobMessage({ position, type, data }: Pick<EventRow, 'position' | 'type' | 'data'>): string {
  const job = data.job as AnyJob
  const [event, content] = type === 'workflows.job.deleted' ? ['deleted', { id: job.id }] : ['job', job]
  return `id: ${position}\nevent: ${event}\ndata: ${JSON.stringify(content)}\n\n`
}
