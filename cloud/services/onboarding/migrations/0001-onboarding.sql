-- Gateways on their way in and after. The id is that of the gateway's asset, and of its principal once it enrolled.
create table gateways (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text collate "C" not null,
  access_group_id uuid not null,
  enrolment_hash bytea,
  config_expires_at timestamptz(3),
  enrolled_at timestamptz(3),
  key_thumbprint text collate "C",
  revoked_at timestamptz(3),
  software_version text,
  last_seen_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, id)
);
create index gateways_by_name on gateways (tenant_id, name, id);
grant select, insert, update, delete on gateways to :app_role;
