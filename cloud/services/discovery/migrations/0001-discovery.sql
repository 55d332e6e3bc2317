-- What somebody wants to be found, now or by schedule. The schedule itself is one of the platform's.
create table discoveries (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  gateway_id uuid not null,
  asset_link_id text collate "C" not null,
  device_class text,
  filters json not null,
  options json not null,
  cron text,
  timezone text,
  paused boolean not null default false,
  missed_runs integer not null default 0,
  runs integer not null default 0,
  latest_run_id uuid,
  created_by text not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, id)
);
create index discoveries_by_gateway on discoveries (tenant_id, gateway_id, id);
create index discoveries_by_link on discoveries (tenant_id, asset_link_id, id);
grant select, insert, update, delete on discoveries to :app_role;

-- One scan. `ending` is what the gateway said when it was done; it counts once everything it handed in is ingested.
create table discovery_runs (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  discovery_id uuid not null,
  number integer not null,
  cause text collate "C" not null check (cause in ('person', 'schedule')),
  workflow_job_id uuid,
  state text collate "C" not null check (state in ('created', 'running', 'finished', 'failed', 'canceled')),
  ending text collate "C" check (ending in ('finished', 'failed', 'canceled')),
  progress integer not null default 0,
  message text,
  found integer not null default 0,
  created integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  gone integer not null default 0,
  errors integer not null default 0,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  ended_at timestamptz(3),
  primary key (tenant_id, id),
  constraint discovery_runs_number unique (tenant_id, discovery_id, number),
  constraint discovery_runs_discovery foreign key (tenant_id, discovery_id)
    references discoveries (tenant_id, id) on delete cascade
);
grant select, insert, update on discovery_runs to :app_role;

-- What a gateway handed in, as it came. An ingested one keeps its place, so that the same again changes nothing.
create table discovery_uploads (
  tenant_id uuid not null references tenants (id),
  run_id uuid not null,
  lease uuid not null,
  sequence bigint not null,
  id uuid not null,
  payload json,
  primary key (tenant_id, run_id, lease, sequence),
  constraint discovery_uploads_run foreign key (tenant_id, run_id)
    references discovery_runs (tenant_id, id) on delete cascade
);
create index discovery_uploads_waiting on discovery_uploads (tenant_id, run_id, id) where payload is not null;
grant select, insert, update on discovery_uploads to :app_role;

create table discovery_findings (
  tenant_id uuid not null references tenants (id),
  run_id uuid not null,
  asset_id uuid not null,
  outcome text collate "C" not null check (outcome in ('new', 'changed', 'unchanged', 'gone')),
  name text,
  primary key (tenant_id, run_id, asset_id),
  constraint discovery_findings_run foreign key (tenant_id, run_id)
    references discovery_runs (tenant_id, id) on delete cascade
);
create index discovery_findings_by_outcome on discovery_findings (tenant_id, run_id, outcome, asset_id);
grant select, insert, update on discovery_findings to :app_role;

create table discovery_errors (
  tenant_id uuid not null references tenants (id),
  run_id uuid not null,
  id uuid not null,
  code integer not null,
  description text not null,
  device json,
  fields json,
  primary key (tenant_id, run_id, id),
  constraint discovery_errors_run foreign key (tenant_id, run_id)
    references discovery_runs (tenant_id, id) on delete cascade
);
grant select, insert on discovery_errors to :app_role;

-- The links of each gateway as it last told. `stated_at` is when the inventory was told.
create table asset_links (
  tenant_id uuid not null references tenants (id),
  gateway_id uuid not null,
  app_instance_id text collate "C" not null,
  asset_id uuid not null,
  device_class text,
  interfaces text[] not null,
  state text collate "C" not null check (state in ('running', 'unreachable', 'gone')),
  report json not null,
  digest text collate "C" not null,
  stated_at timestamptz(3) not null,
  last_seen_at timestamptz(3) not null,
  primary key (tenant_id, gateway_id, app_instance_id)
);
create index asset_links_by_asset on asset_links (tenant_id, asset_id);
grant select, insert, update, delete on asset_links to :app_role;
