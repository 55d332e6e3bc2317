-- Exports to files. The content is in `export_parts`. A run that starts again after a crash has a higher attempt number,
-- so that a worker that lost its lease stores nothing more.
create table exports (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  job_id uuid not null,
  state text collate "C" not null check (state in ('queued', 'running', 'finished', 'failed', 'canceled')),
  request json not null,
  file_name text not null,
  attempt integer not null default 0,
  rows bigint not null default 0,
  total bigint,
  parts integer not null default 0,
  -- The size of the content, and the size in which it is stored.
  bytes bigint not null default 0,
  stored_bytes bigint not null default 0,
  is_deleted boolean not null default false,
  problem json,
  principal_id uuid not null,
  principal_kind text collate "C" not null,
  principal_name text not null,
  roles json not null,
  created_at timestamptz(3) not null,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  expires_at timestamptz(3),
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index exports_by_principal on exports (tenant_id, principal_id, id);
create index exports_unfinished on exports (tenant_id, id) where state in ('queued', 'running');
create index exports_by_expiry on exports (tenant_id, expires_at) where expires_at is not null;
grant select, insert, update, delete on exports to :app_role;

-- The content of exports in parts of some megabytes. It is compressed, unless the format is compressed already.
create table export_parts (
  tenant_id uuid not null,
  export_id uuid not null,
  number integer not null,
  is_compressed boolean not null,
  content bytea not null,
  primary key (tenant_id, export_id, number),
  constraint export_parts_export foreign key (tenant_id, export_id) references exports (tenant_id, id)
);
-- The content is compressed already.
alter table export_parts alter column content set storage external;
grant select, insert, delete on export_parts to :app_role;
