-- Imports of files. An import goes through three phases: the file is read into rows, the assets of the rows are written, and
-- the written assets are placed below their parents and nodes. `next_row` is the place at which the phase continues.
create table imports (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  file_name text not null,
  bytes bigint not null,
  format text collate "C",
  state text collate "C" not null check (state in ('queued', 'running', 'finished', 'failed', 'canceled')),
  phase text collate "C" not null default 'reading' check (phase in ('reading', 'writing', 'placing')),
  dry_run boolean not null,
  -- The place of a running import among the imports of the tenant that run at the same time.
  slot integer,
  mapping_id uuid,
  -- The saved mapping at the time of the upload. Null if the headings determine the columns.
  mapping json,
  columns json not null default '[]',
  rows integer not null default 0,
  -- The length of the content of all rows.
  characters bigint not null default 0,
  created integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  failed integer not null default 0,
  next_row integer not null default 0,
  -- The rows that are being written.
  portion json,
  problem json,
  job_id uuid not null,
  -- Whether the job has the state of the ended import.
  is_reported boolean not null default false,
  -- The number of attempts without progress.
  attempts integer not null default 0,
  principal_id uuid not null,
  principal_kind text collate "C" not null,
  principal_name text not null,
  roles json not null,
  created_at timestamptz(3) not null,
  queued_at timestamptz(3) not null,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  primary key (tenant_id, id)
);
create index imports_unfinished on imports (tenant_id, queued_at, id) where state in ('queued', 'running') or portion is not null;
create index imports_unreported on imports (tenant_id, id) where not is_reported;
grant select, insert, update, delete on imports to :app_role;

-- The content of uploaded files in parts. The parts of an upload that did not end are deleted later.
create table import_file_parts (
  tenant_id uuid not null references tenants (id),
  import_id uuid not null,
  part integer not null,
  content bytea not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, import_id, part)
);
create index import_file_parts_by_time on import_file_parts (tenant_id, created_at) where part = 0;
grant select, insert, delete on import_file_parts to :app_role;

-- The rows of files with their results. `content` is a list of cells, or a document.
create table import_rows (
  tenant_id uuid not null references tenants (id),
  import_id uuid not null,
  row integer not null,
  content json not null,
  -- The length of the content, which limits the rows that are read at the same time.
  characters integer not null,
  -- The identifiers of the row. Two rows with the same identifier describe the same asset.
  keys text[] collate "C" not null,
  outcome text collate "C",
  asset_id uuid,
  matched_by json,
  errors json,
  primary key (tenant_id, import_id, row)
);
create index import_rows_failed on import_rows (tenant_id, import_id, row) where outcome = 'failed';
grant select, insert, update, delete on import_rows to :app_role;

-- The texts by which a row of the same file can be named as a parent. They exist only for files with the column Parent.
create table import_row_names (
  tenant_id uuid not null references tenants (id),
  import_id uuid not null,
  name text collate "C" not null,
  row integer not null,
  primary key (tenant_id, import_id, name, row)
);
grant select, insert, delete on import_row_names to :app_role;

create table import_mappings (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text collate "C" not null,
  columns json not null,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint import_mappings_name unique (tenant_id, name)
);
grant select, insert, update, delete on import_mappings to :app_role;
