import type { AnyJob } from '@millwright/api/jobs.ts'
import type { EventRow } from '../../platform/events/store.ts'

type Wish = { type?: string; gatewayId?: string }

/** Which events are about jobs that the reader asked for. */
export function jobSelection({ type, gatewayId }: Wish): (event: Pick<EventRow, 'type' | 'data'>) => boolean {
  return (event) => {
    if (!event.type.startsWith('workflows.job.')) return false
    const job = event.data.job as AnyJob
    return (type ?? job.type) === job.type && (gatewayId ?? job.gatewayId) === job.gatewayId
  }
}

/** A job as it is after a change, or that there is none any more. */
export function jobMessage({ position, type, data }: Pick<EventRow, 'position' | 'type' | 'data'>): string {
  const job = data.job as AnyJob
  const [event, told] = type === 'workflows.job.deleted' ? ['deleted', { id: job.id }] : ['job', job]
  return `id: ${position}\nevent: ${event}\ndata: ${JSON.stringify(told)}\n\n`
}
