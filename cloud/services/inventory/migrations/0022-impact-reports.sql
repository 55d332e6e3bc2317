-- Stored results of impact queries. The result contains the assets with their effects, and the names of their nodes.
create table impact_reports (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text collate "C" not null,
  asset_id uuid not null,
  asset_name text,
  mode text collate "C" not null check (mode in ('depends', 'fails')),
  affected integer not null,
  degraded integer not null,
  result json not null,
  created_at timestamptz(3) not null,
  principal_id uuid not null,
  principal_name text not null,
  primary key (tenant_id, id)
);
create index impact_reports_by_asset on impact_reports (tenant_id, asset_id, id);
grant select, insert, delete on impact_reports to :app_role;
