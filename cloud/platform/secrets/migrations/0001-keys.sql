-- Which master keys wrap something here: their ids, never the keys. The newest wraps what is new. With a transit key of
-- Vault or OpenBao, what it encrypted. Written by the owner only; the application may hold one so that it is not retired
-- meanwhile, which takes the right to update, and the policy keeps it from doing so.
create table master_keys (
  id text collate "C" primary key,
  transit_text text,
  current_since timestamptz(3) not null default now()
);
alter table master_keys enable row level security;
create policy lookup on master_keys for select using (true);
create policy hold on master_keys for update using (true) with check (false);
grant select, update (id) on master_keys to :app_role;

-- The keys of the platform itself, wrapped: of signing keys, of calls between processes, of the audit chain's end. One is
-- known to every process before it becomes active, and is understood until it is retired.
create table platform_keys (
  version integer primary key,
  master_key_id text collate "C" not null references master_keys (id),
  wrapped bytea not null,
  created_at timestamptz(3) not null default now(),
  active_from timestamptz(3) not null default now(),
  retires_at timestamptz(3)
);
grant select on platform_keys to :app_role;

-- What the platform itself keeps secret, sealed. The application has no business here.
create table platform_secrets (
  name text collate "C" primary key,
  sealed bytea not null
);

-- The data keys of each tenant, wrapped by a master key. The newest seals, all open. The application makes one where there
-- is none, holds the one that it seals with, and deletes those that nothing was sealed with any more for a while.
create table data_keys (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  version integer not null,
  master_key_id text collate "C" not null references master_keys (id),
  wrapped bytea not null,
  created_at timestamptz(3) not null default now(),
  retired_at timestamptz(3),
  primary key (tenant_id, id),
  constraint data_keys_version unique (tenant_id, version)
);
alter table data_keys enable row level security;
create policy tenant_select on data_keys for select
  using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid);
create policy tenant_insert on data_keys for insert
  with check (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid and retired_at is null);
create policy tenant_hold on data_keys for update
  using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid) with check (false);
create policy tenant_forget on data_keys for delete
  using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid and retired_at is not null);
grant select, insert, update (version), delete on data_keys to :app_role;
