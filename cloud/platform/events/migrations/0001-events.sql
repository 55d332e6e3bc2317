-- The outbox: written in the transaction of the change, given a position after its commit by one relay per tenant.
create table events (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  position bigint,
  type text collate "C" not null,
  subject text collate "C" not null,
  time timestamptz(3) not null default now(),
  data jsonb not null,
  primary key (tenant_id, id)
);
create unique index events_by_position on events (tenant_id, position) where position is not null;
create index events_waiting on events (tenant_id, id) where position is null;
grant select, insert, update (position), delete on events to :app_role;

create table event_positions (
  tenant_id uuid primary key references tenants (id),
  last bigint not null default 0
);
grant select, insert, update on event_positions to :app_role;
