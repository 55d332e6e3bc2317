-- Webhooks and MQTT publishers. roles contains the roles and grants of the token with which the owner last changed the
-- subscription. details contains the fields of one kind. previous_secret is valid until previous_secret_until.
create table event_subscriptions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  kind text collate "C" not null check (kind in ('webhook', 'mqtt')),
  name text not null,
  url text collate "C" not null,
  types text[] not null,
  access_group_id uuid,
  filter text,
  active boolean not null,
  certificate_authority text,
  details jsonb not null,
  sealed_secret bytea,
  sealed_previous_secret bytea,
  previous_secret_until timestamptz(3),
  principal_id uuid not null,
  principal_kind text collate "C" not null,
  principal_name text not null,
  roles jsonb not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
grant select, insert, update, delete on event_subscriptions to :app_role;

-- What the process that sends the events of a subscription writes. All events up to position are delivered, not selected,
-- or in event_deliveries. The same is true for the events up to finished_to, except those at the positions in unfinished.
-- One process has the lease (runner_id) at a time, and writes only while it has it. stopped_reason
-- is set when the platform paused or disabled the subscription. wake_at is the time of the next retry.
create table event_subscription_progress (
  tenant_id uuid not null references tenants (id),
  subscription_id uuid not null,
  position bigint not null,
  finished_to bigint not null default 0,
  unfinished bigint[] not null default '{}',
  stopped_reason text collate "C",
  stopped_at timestamptz(3),
  failures integer not null default 0,
  opened_at timestamptz(3),
  blocked_until timestamptz(3),
  wake_at timestamptz(3),
  last_success_at timestamptz(3),
  last_failure_at timestamptz(3),
  last_error text,
  runner_id uuid,
  runner_until timestamptz(3),
  primary key (tenant_id, subscription_id),
  foreign key (tenant_id, subscription_id) references event_subscriptions (tenant_id, id) on delete cascade
);
grant select, insert, update, delete on event_subscription_progress to :app_role;

-- The log of a subscription, and the events that wait for a retry. An event with next_at is sent again at that time. An
-- event in the state waiting is sent after the earlier event with the same subject. A test event has no position. The rows
-- of a deleted subscription are deleted later, in parts.
create table event_deliveries (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  subscription_id uuid not null,
  event_id uuid not null,
  position bigint,
  type text collate "C" not null,
  subject text collate "C" not null,
  state text collate "C" not null check (state in ('succeeded', 'waiting', 'failed', 'skipped')),
  is_dead_letter boolean not null default false,
  message_id text collate "C" not null,
  attempt_count integer not null,
  attempts json not null,
  first_failed_at timestamptz(3),
  next_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index event_deliveries_log on event_deliveries (tenant_id, subscription_id, id);
create index event_deliveries_open on event_deliveries (tenant_id, subscription_id, position)
  where state in ('waiting', 'failed') and not is_dead_letter and position is not null;
create index event_deliveries_dead on event_deliveries (tenant_id, subscription_id, id) where is_dead_letter;
create index event_deliveries_unsent on event_deliveries (tenant_id, subscription_id, id) where state <> 'succeeded';
grant select, insert, update, delete on event_deliveries to :app_role;
