-- Devices that a gateway found under an identifier of an asset that the gateway may not write. One row for each asset and
-- gateway, with the latest discovery run.
create table identity_conflicts (
  tenant_id uuid not null references tenants (id),
  asset_id uuid not null,
  gateway_id uuid not null,
  job_id uuid,
  run_id uuid,
  device_name text,
  identifiers json not null,
  first_seen timestamptz(3) not null,
  last_seen timestamptz(3) not null,
  primary key (tenant_id, asset_id, gateway_id),
  constraint identity_conflicts_asset foreign key (tenant_id, asset_id) references assets (tenant_id, id) on delete cascade,
  constraint identity_conflicts_gateway foreign key (tenant_id, gateway_id) references assets (tenant_id, id) on delete cascade
);
create index identity_conflicts_by_gateway on identity_conflicts (tenant_id, gateway_id);
create index identity_conflicts_by_time on identity_conflicts (tenant_id, last_seen desc, asset_id, gateway_id);
grant select, insert, update, delete on identity_conflicts to :app_role;
