-- What people set up for themselves: columns, views, language. Nobody else reads it.
create table preferences (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  name text collate "C" not null,
  value jsonb not null,
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, principal_id, name),
  constraint preferences_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
grant select, insert, update, delete on preferences to :app_role;
