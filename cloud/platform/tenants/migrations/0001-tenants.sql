-- Shared by all tenants: looked at before the tenant of a request is known.
create table tenants (
  id uuid primary key,
  name text collate "C" not null unique,
  state text not null default 'active' check (state in ('active', 'suspended')),
  applications text[] not null default '{api,ui}',
  created_at timestamptz(3) not null default now()
);
grant select on tenants to :app_role;

-- Client id, gateway id or sign-in name to tenant. Everybody may look up; a tenant writes only its own entries.
create table directory (
  kind text collate "C" not null,
  key text collate "C" not null,
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  primary key (kind, key)
);
create index directory_by_principal on directory (tenant_id, principal_id);
alter table directory enable row level security;
create policy lookup on directory for select using (true);
create policy tenant_insert on directory for insert
  with check (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid);
create policy tenant_update on directory for update
  using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid);
create policy tenant_delete on directory for delete
  using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid);
grant select, insert, update, delete on directory to :app_role;
