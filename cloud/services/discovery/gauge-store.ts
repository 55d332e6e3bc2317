import { lowestIdAt } from '../../platform/database/id.ts'
import { statement } from '../../platform/database/statement.ts'
import type { GaugeRow, TenantGauge } from '../../platform/tenant-gauge.ts'

const dayMs = 24 * 3_600_000

const links = statement<GaugeRow>(
  `select s.state as label, count(l.state)::float8 as value
   from unnest(array['running', 'unreachable', 'gone']) as s (state)
   left join (select state from asset_links where tenant_id = $1) as l on l.state = s.state
   group by s.state`,
)
const runs = statement<GaugeRow>(
  `select s.state as label, count(r.state)::float8 as value
   from unnest(array['created', 'running', 'finished', 'failed', 'canceled']) as s (state)
   left join (select state from discovery_runs where tenant_id = $1 and id >= $2) as r on r.state = s.state
   group by s.state`,
)

export const discoveryGauges: readonly TenantGauge[] = [
  {
    name: 'millwright_tenant_asset_links',
    help: 'Asset links by state: running, unreachable, gone',
    label: 'state',
    combine: 'sum',
    statement: links,
  },
  {
    name: 'millwright_tenant_discovery_runs',
    help: 'Runs of discoveries that were created in the last 24 hours, by state: created, running, finished, failed, canceled',
    label: 'state',
    combine: 'sum',
    statement: runs,
    values: () => [lowestIdAt(Date.now() - dayMs)],
  },
]
