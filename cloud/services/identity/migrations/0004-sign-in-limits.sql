-- The tokens of a client secret are a family. Null means the id of the principal.
alter table server_user_secrets add column token_family uuid;

-- Wrong passwords per account, counted by all processes. The account is a keyed hash of the sign-in name: names that do
-- not exist are counted too, and what people type into the wrong field cannot be read here.
create table sign_in_failures (
  tenant_id uuid not null references tenants (id),
  account bytea not null,
  failures integer not null,
  last_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, account)
);
create index sign_in_failures_by_expiry on sign_in_failures (tenant_id, expires_at);
grant select, insert, update, delete on sign_in_failures to :app_role;

-- Networks from which a person signed in with the right password: there the limit per account does not apply.
create table known_networks (
  tenant_id uuid not null references tenants (id),
  account bytea not null,
  network text collate "C" not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, account, network)
);
create index known_networks_by_expiry on known_networks (tenant_id, expires_at);
grant select, insert, update, delete on known_networks to :app_role;
