-- The built-in links of each gateway that can run them, as the gateway last reported them.
create table managed_links (
  tenant_id uuid not null references tenants (id),
  gateway_id uuid not null,
  links json not null,
  reported_at timestamptz(3) not null,
  primary key (tenant_id, gateway_id)
);
grant select, insert, update, delete on managed_links to :app_role;
