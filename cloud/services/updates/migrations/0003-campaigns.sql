-- Update campaigns. `principal_*` is the person who started the campaign. `due_at` is the time at which the executor continues
-- the campaign, and `changes` counts the changes of the campaign, so that the executor misses none. `tolerated` contains the number
-- of failed devices of each wave that a resumed campaign accepts. `reported` is the status that the job of the campaign has.
create table update_campaigns (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null,
  artefact_id uuid not null,
  artefact json not null,
  targets json not null,
  waves json not null,
  stop_on_failure_percent double precision not null,
  maintenance_window json,
  approval text collate "C" not null check (approval in ('none', 'required')),
  concurrent_devices integer not null,
  verify_minutes integer not null,
  allows_downgrade boolean not null,
  state text collate "C" not null
    check (state in ('draft', 'pending-approval', 'running', 'paused', 'stopped', 'finished', 'canceled')),
  state_reason text,
  tolerated json not null,
  job_id uuid,
  reported text,
  created_by_id uuid not null,
  created_by_name text not null,
  approved_by_id uuid,
  approved_by_name text,
  principal_id uuid,
  principal_kind text collate "C",
  principal_name text,
  roles json,
  due_at timestamptz(3),
  changes bigint not null default 0,
  created_at timestamptz(3) not null,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index update_campaigns_by_state on update_campaigns (tenant_id, state, id);
create index update_campaigns_by_artefact on update_campaigns (tenant_id, artefact_id, id);
create index update_campaigns_due on update_campaigns (tenant_id, due_at) where due_at is not null;
create index update_campaigns_by_end on update_campaigns (tenant_id, finished_at) where finished_at is not null;
grant select, insert, update, delete on update_campaigns to :app_role;

-- The devices of campaigns, as the plan was at the start. `job_id` is the job of the current step and attempt. It is stored before
-- the job is created, so that a repeated creation has no effect. `activation_at` is stored before the platform requests the
-- activation. `report` is what the device reported, until it is written to the asset. `is_held` reserves the asset for the campaign.
create table update_devices (
  tenant_id uuid not null,
  id uuid not null,
  campaign_id uuid not null,
  asset_id uuid not null,
  asset_name text,
  access_group_id uuid not null,
  gateway_id uuid,
  asset_link_id text,
  link_asset_id uuid,
  from_version text,
  to_version text not null,
  steps json not null,
  wave integer not null,
  position integer not null,
  group_key text not null,
  after_assets json not null,
  not_with_assets json not null,
  windows json not null,
  state text collate "C" not null check (state in ('waiting', 'downloading', 'transferring', 'prepared', 'activating',
    'verifying', 'succeeded', 'failed', 'unknown', 'skipped', 'canceled')),
  progress integer not null default 0,
  step integer not null default 0,
  attempt integer not null default 1,
  reason text,
  reported_version text,
  is_started boolean not null default false,
  job_id uuid,
  is_job_created boolean not null default false,
  activation_at timestamptz(3),
  cancel_at timestamptz(3),
  report json,
  is_held boolean not null,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint update_devices_campaign foreign key (tenant_id, campaign_id) references update_campaigns (tenant_id, id)
);
create unique index update_devices_of_campaign on update_devices (tenant_id, campaign_id, asset_id);
create unique index update_devices_held on update_devices (tenant_id, asset_id) where is_held;
create index update_devices_by_place on update_devices (tenant_id, campaign_id, wave, position, id);
create index update_devices_by_state on update_devices (tenant_id, campaign_id, wave, state);
create index update_devices_started on update_devices (tenant_id, campaign_id, id) where is_started;
create index update_devices_reported on update_devices (tenant_id, campaign_id, id) where report is not null;
create index update_devices_by_job on update_devices (tenant_id, job_id) where job_id is not null;
create index update_devices_by_asset on update_devices (tenant_id, asset_id, id);
grant select, insert, update, delete on update_devices to :app_role;
