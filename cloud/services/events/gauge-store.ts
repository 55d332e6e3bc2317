import { statement } from '../../platform/database/statement.ts'
import type { GaugeRow, TenantGauge } from '../../platform/tenant-gauge.ts'

const subscriptions = statement<GaugeRow>(
  `select s.state as label, count(e.state)::float8 as value
   from unnest(array['active', 'inactive', 'stopped']) as s (state)
   left join (
     select case when p.stopped_reason is not null then 'stopped' when e.active then 'active' else 'inactive' end as state
     from event_subscriptions e
     left join event_subscription_progress p on p.tenant_id = $1 and p.subscription_id = e.id
     where e.tenant_id = $1) as e on e.state = s.state
   group by s.state`,
)
/** An event waits if it is after the position of the subscription, or if its delivery failed and is repeated. */
const undeliveredAge = statement<GaugeRow>(
  `select coalesce(max(extract(epoch from now() - w.since)), 0)::float8 as value
   from event_subscriptions e
   join event_subscription_progress p on p.tenant_id = $1 and p.subscription_id = e.id
   cross join lateral (
     (select time as since from events
      where tenant_id = $1 and position > p.position order by position limit 1)
     union all
     (select created_at from event_deliveries
      where tenant_id = $1 and subscription_id = e.id and state in ('waiting', 'failed') and not is_dead_letter
        and position is not null order by position limit 1)) as w
   where e.tenant_id = $1 and e.active and p.stopped_reason is null`,
)
const deadLetters = statement<GaugeRow>(
  `select count(*)::float8 as value from event_deliveries d
   where d.tenant_id = $1 and d.is_dead_letter
     and d.subscription_id = any(array(select id from event_subscriptions where tenant_id = $1))`,
)

export const subscriptionGauges: readonly TenantGauge[] = [
  {
    name: 'millwright_tenant_subscriptions',
    help: 'Webhooks and MQTT publishers by state: active, inactive, stopped (the platform stopped the delivery)',
    label: 'state',
    combine: 'sum',
    statement: subscriptions,
  },
  {
    name: 'millwright_tenant_undelivered_event_age_seconds',
    help: 'Seconds since the oldest event that an active webhook or MQTT publisher has not delivered',
    combine: 'max',
    statement: undeliveredAge,
  },
  {
    name: 'millwright_tenant_dead_letters',
    help: 'Events that were not delivered after all attempts',
    combine: 'sum',
    statement: deadLetters,
  },
]
