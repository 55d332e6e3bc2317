import type { ReferenceHandle } from './database/database.ts'
import { statement } from './database/statement.ts'
import { periodicKey } from './tasks/claim.ts'
import type { GaugeRow, TenantGauge } from './tenant-gauge.ts'

const activeTenants = statement<{ id: string; name: string }>(
  `select id, name from tenants where state = 'active' order by name`,
)

export function listActiveTenants(handle: ReferenceHandle): Promise<{ id: string; name: string }[]> {
  return handle.rows(activeTenants)
}

const dueTasks = statement<GaugeRow>(
  `select count(*)::float8 as value from jobs
   where tenant_id = $1 and state = 'waiting' and key <> $2 and run_at < now()`,
)
const taskAge = statement<GaugeRow>(
  `select coalesce(extract(epoch from now() - min(run_at)), 0)::float8 as value from jobs
   where tenant_id = $1 and state = 'waiting' and key <> $2 and run_at < now()`,
)
const failedTasks = statement<GaugeRow>(
  `select count(*)::float8 as value from jobs where tenant_id = $1 and state = 'failed'`,
)
const unsealedEntries = statement<GaugeRow>(
  `select count(*)::float8 as value from audit_entries
   where tenant_id = $1 and sequence is null and time < now() - interval '5 minutes'`,
)

/** The gauges of the background tasks and of the audit trail. Periodic tasks are due even if they have no work. */
export const platformGauges: readonly TenantGauge[] = [
  {
    name: 'millwright_tenant_tasks_due',
    help: 'Background tasks that are due and wait for a process, without periodic tasks',
    combine: 'sum',
    statement: dueTasks,
    values: () => [periodicKey],
  },
  {
    name: 'millwright_tenant_task_age_seconds',
    help: 'Seconds since the oldest background task is due',
    combine: 'max',
    statement: taskAge,
    values: () => [periodicKey],
  },
  {
    name: 'millwright_tenant_tasks_failed',
    help: 'Background tasks that failed permanently in the last 30 days',
    combine: 'sum',
    statement: failedTasks,
  },
  {
    name: 'millwright_tenant_audit_entries_unsealed',
    help: 'Audit entries that are older than five minutes and not sealed',
    combine: 'sum',
    statement: unsealedEntries,
  },
]
