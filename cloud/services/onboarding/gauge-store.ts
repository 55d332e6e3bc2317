import { onboardingLimits } from '@millwright/api/onboarding.ts'
import { statement } from '../../platform/database/statement.ts'
import type { GaugeRow, TenantGauge } from '../../platform/tenant-gauge.ts'

/** The states are those of `stateOf`. Each state has a row, so that an alert sees 0 and not a missing value. */
const gateways = statement<GaugeRow>(
  `select s.state as label, count(g.state)::float8 as value
   from unnest(array['online', 'offline', 'created', 'config_expired', 'revoked']) as s (state)
   left join (
     select case when revoked_at is not null then 'revoked'
                 when enrolled_at is null and config_expires_at <= now() then 'config_expired'
                 when enrolled_at is null then 'created'
                 when coalesce(last_seen_at, enrolled_at)
                      >= now() - make_interval(secs => ${onboardingLimits.offlineAfterSeconds}) then 'online'
                 else 'offline' end as state
     from gateways where tenant_id = $1) as g on g.state = s.state
   group by s.state`,
)
const contactAge = statement<GaugeRow>(
  `select coalesce(extract(epoch from now() - min(coalesce(last_seen_at, enrolled_at))), 0)::float8 as value
   from gateways where tenant_id = $1 and revoked_at is null and enrolled_at is not null`,
)

export const gatewayGauges: readonly TenantGauge[] = [
  {
    name: 'millwright_tenant_gateways',
    help: 'Gateways by state: online, offline, created, config_expired, revoked',
    label: 'state',
    combine: 'sum',
    statement: gateways,
  },
  {
    name: 'millwright_tenant_gateway_contact_age_seconds',
    help: 'Seconds since the last request of the gateway that sent none for the longest time; revoked gateways are left out',
    combine: 'max',
    statement: contactAge,
  },
]
