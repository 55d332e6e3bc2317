-- Monitorings. `principal_*` and `roles` are the owner, with whose current rights the runs read and write assets. `template_id` is the
-- instances template whose credentials are tried. An empty list of links means all links that found an asset.
create table monitorings (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null,
  template_id uuid,
  asset_link_ids json not null,
  targets json not null,
  keys json not null,
  assign_working boolean not null,
  cron text,
  timezone text,
  paused boolean not null default false,
  missed_runs integer not null default 0,
  runs integer not null default 0,
  latest_run_id uuid,
  principal_id uuid not null,
  principal_kind text collate "C" not null,
  principal_name text not null,
  roles json not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index monitorings_by_name on monitorings (tenant_id, name, id);
grant select, insert, update, delete on monitorings to :app_role;

-- Runs. `due_at` is the time at which the background task continues a run. It is null when the run has ended. `left_out` counts the
-- assets that the owner can read, but not write.
create table monitoring_runs (
  tenant_id uuid not null,
  id uuid not null,
  monitoring_id uuid not null,
  number integer not null,
  cause text collate "C" not null check (cause in ('person', 'schedule')),
  state text collate "C" not null check (state in ('created', 'running', 'finished', 'failed', 'canceled')),
  message text,
  targets integer not null default 0,
  reached integer not null default 0,
  failed integer not null default 0,
  unknown integer not null default 0,
  changed integer not null default 0,
  left_out integer not null default 0,
  due_at timestamptz(3),
  cancel_at timestamptz(3),
  canceled_by text,
  created_at timestamptz(3) not null,
  started_at timestamptz(3),
  ended_at timestamptz(3),
  primary key (tenant_id, id),
  constraint monitoring_runs_number unique (tenant_id, monitoring_id, number),
  constraint monitoring_runs_monitoring foreign key (tenant_id, monitoring_id)
    references monitorings (tenant_id, id) on delete cascade
);
create index monitoring_runs_due on monitoring_runs (tenant_id, due_at) where due_at is not null;
grant select, insert, update, delete on monitoring_runs to :app_role;

-- The jobs of a run, one per gateway at a time. The row is stored before the job is created, so that a repeated creation has no effect.
-- `active_at` is the time of the last sign of the gateway in this job.
create table monitoring_jobs (
  tenant_id uuid not null,
  job_id uuid not null,
  run_id uuid not null,
  gateway_id uuid not null,
  is_open boolean not null default true,
  created_at timestamptz(3) not null,
  active_at timestamptz(3) not null,
  primary key (tenant_id, job_id),
  constraint monitoring_jobs_run foreign key (tenant_id, run_id) references monitoring_runs (tenant_id, id) on delete cascade
);
create index monitoring_jobs_by_run on monitoring_jobs (tenant_id, run_id, created_at);
grant select, insert, update, delete on monitoring_jobs to :app_role;

-- The last result of each asset of a monitoring. `run_id` is the latest run that checks the asset, and `is_pending` tells whether its
-- result in this run is missing. `routes` are the gateways that are still to try, each with its links. `gateway_id` is the first of them.
-- `rank` orders results: unreachable assets first, then changed ones. `report_digest` identifies the last report of the device that was
-- written to the inventory.
create table monitoring_results (
  tenant_id uuid not null,
  monitoring_id uuid not null,
  asset_id uuid not null,
  asset_name text,
  run_id uuid not null,
  is_pending boolean not null,
  gateway_id uuid,
  routes json not null,
  rank smallint not null,
  state text collate "C" not null check (state in ('reached', 'failed', 'unknown')),
  since_at timestamptz(3) not null,
  checked_at timestamptz(3),
  is_changed boolean not null,
  message text,
  firmware_version text,
  property_values json not null,
  checked_gateway_id uuid,
  asset_link_id text,
  instance_id uuid,
  report_digest text,
  primary key (tenant_id, monitoring_id, asset_id),
  constraint monitoring_results_monitoring foreign key (tenant_id, monitoring_id)
    references monitorings (tenant_id, id) on delete cascade
);
create index monitoring_results_by_rank on monitoring_results (tenant_id, monitoring_id, rank, asset_name, asset_id);
create index monitoring_results_by_asset on monitoring_results (tenant_id, asset_id);
create index monitoring_results_pending on monitoring_results (tenant_id, run_id, gateway_id, asset_id) where is_pending;
grant select, insert, update, delete on monitoring_results to :app_role;

-- The states of monitored assets. A row is written only when the state changes. `to_at` is null for the current state.
create table asset_availability (
  tenant_id uuid not null references tenants (id),
  asset_id uuid not null,
  from_at timestamptz(3) not null,
  to_at timestamptz(3),
  state text collate "C" not null check (state in ('reached', 'failed', 'unknown')),
  primary key (tenant_id, asset_id, from_at)
);
create unique index asset_availability_current on asset_availability (tenant_id, asset_id) where to_at is null;
create index asset_availability_by_end on asset_availability (tenant_id, to_at) where to_at is not null;
grant select, insert, update, delete on asset_availability to :app_role;
