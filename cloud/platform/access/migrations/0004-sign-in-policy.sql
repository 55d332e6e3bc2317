-- The sign-in policy of a tenant. Without a row, the defaults of the columns apply.
create table sign_in_policies (
  tenant_id uuid primary key references tenants (id),
  second_factor text not null default 'nobody' check (second_factor in ('nobody', 'administrators', 'everyone')),
  step_up text[] not null default '{}',
  step_up_minutes integer not null default 15,
  idle_minutes integer not null default 720,
  absolute_hours integer not null default 720,
  version bigint not null default 1,
  modified_at timestamptz(3) not null default now()
);
grant select, insert, update on sign_in_policies to :app_role;
