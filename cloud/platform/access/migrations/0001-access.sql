-- Moves with every change of who may do what; processes compare it with what they have cached.
create table access_versions (
  tenant_id uuid primary key references tenants (id),
  version bigint not null default 1
);
alter table access_versions enable row level security;
create policy lookup on access_versions for select using (true);
create policy tenant_update on access_versions for update
  using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid);
grant select, update (version) on access_versions to :app_role;

-- Whoever can hold a token: people, server users, gateways, users of an external issuer.
create table principals (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  kind text collate "C" not null check (kind in ('user', 'server_user', 'gateway', 'external')),
  name text collate "C" not null,
  display_name text not null default '',
  disabled boolean not null default false,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  constraint principals_name unique (tenant_id, kind, name)
);
grant select, insert, update, delete on principals to :app_role;

create table access_groups (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text collate "C" not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  constraint access_groups_name unique (tenant_id, name)
);
grant select, insert, update, delete on access_groups to :app_role;

-- Roles that a tenant defined itself; the built-in ones live in the program.
create table roles (
  tenant_id uuid not null references tenants (id),
  name text collate "C" not null,
  title text not null default '',
  permissions text[] not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, name)
);
grant select, insert, update, delete on roles to :app_role;

-- No foreign key on the role: it may be a built-in one.
create table grants (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  principal_id uuid not null,
  role text collate "C" not null,
  access_group_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  constraint grants_once unique nulls not distinct (tenant_id, principal_id, role, access_group_id),
  constraint grants_principal foreign key (tenant_id, principal_id) references principals (tenant_id, id) on delete cascade,
  constraint grants_access_group foreign key (tenant_id, access_group_id) references access_groups (tenant_id, id)
);
create index grants_by_role on grants (tenant_id, role, id);
create index grants_by_access_group on grants (tenant_id, access_group_id, id);
grant select, insert, delete on grants to :app_role;
