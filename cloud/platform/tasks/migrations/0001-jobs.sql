-- Background work: claimed with a lease, done at least once, its effects written in the transaction that ends it.
create table jobs (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  payload jsonb not null default '{}',
  state text collate "C" not null default 'waiting' check (state in ('waiting', 'running', 'failed')),
  run_at timestamptz(3) not null,
  attempts integer not null default 0,
  lease_id uuid,
  lease_until timestamptz(3),
  last_error text,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, id)
);
-- At most one waiting job per kind and key: stating it again brings it forward. And at most one running: what was
-- stated while it ran waits for its end.
create unique index jobs_waiting_once on jobs (tenant_id, kind, key) where state = 'waiting';
create unique index jobs_running_once on jobs (tenant_id, kind, key) where state = 'running';
-- By kind, because a process looks only for the kinds it knows and must not wade through a backlog of others.
create index jobs_due on jobs (tenant_id, kind, run_at, id) where state = 'waiting';
create index jobs_leased on jobs (tenant_id, lease_until) where state = 'running';
create index jobs_failed on jobs (tenant_id, id) where state = 'failed';
grant select, insert, update, delete on jobs to :app_role;

-- Schedules make jobs: cron in a time zone, with the time of the next run stored so that finding it is a look-up.
create table schedules (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  payload jsonb not null default '{}',
  cron text not null,
  timezone text not null default 'UTC',
  paused boolean not null default false,
  next_run_at timestamptz(3),
  last_run_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  constraint schedules_once unique (tenant_id, kind, key)
);
create index schedules_due on schedules (tenant_id, next_run_at) where not paused and next_run_at is not null;
grant select, insert, update, delete on schedules to :app_role;
