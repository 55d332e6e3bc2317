import { statement } from '../../platform/database/statement.ts'
import type { GaugeRow, TenantGauge } from '../../platform/tenant-gauge.ts'

const assets = statement<GaugeRow>(
  `select coalesce(sum(assets), 0)::float8 as value from asset_counts where tenant_id = $1`,
)
const queuedWrites = statement<GaugeRow>(
  `select count(*)::float8 as value from operations where tenant_id = $1 and state = 'queued'`,
)
const queuedWriteAge = statement<GaugeRow>(
  `select coalesce(extract(epoch from now() - min(accepted_at)), 0)::float8 as value
   from operations where tenant_id = $1 and state = 'queued'`,
)

export const inventoryGauges: readonly TenantGauge[] = [
  { name: 'millwright_tenant_assets', help: 'Assets', combine: 'sum', statement: assets },
  {
    name: 'millwright_tenant_queued_writes',
    help: 'Accepted writes of assets that are not applied yet',
    combine: 'sum',
    statement: queuedWrites,
  },
  {
    name: 'millwright_tenant_queued_write_age_seconds',
    help: 'Seconds since the oldest write that is not applied was accepted',
    combine: 'max',
    statement: queuedWriteAge,
  },
]
