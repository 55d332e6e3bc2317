create table identity_providers (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text collate "C" not null,
  title text not null,
  issuer text collate "C" not null,
  client_id text collate "C" not null,
  sealed_client_secret bytea,
  scopes text[] not null,
  name_claim text not null,
  groups_claim text not null,
  mappings jsonb not null,
  may_grant_administrator boolean not null default false,
  api_audience text collate "C",
  disabled boolean not null default false,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  constraint identity_providers_name unique (tenant_id, name),
  constraint identity_providers_issuer unique (tenant_id, issuer)
);
grant select, insert, update, delete on identity_providers to :app_role;

-- The account of a person at a provider. The principal is found by issuer and subject only. claims_at is the issue
-- time of the newest claims from which the grants were mapped.
create table external_accounts (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  provider_id uuid not null,
  issuer text collate "C" not null,
  subject text collate "C" not null,
  claims_at timestamptz(3) not null,
  last_sign_in_at timestamptz(3),
  primary key (tenant_id, principal_id),
  constraint external_accounts_subject unique (tenant_id, issuer, subject),
  constraint external_accounts_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
create index external_accounts_by_provider on external_accounts (tenant_id, provider_id);
grant select, insert, update, delete on external_accounts to :app_role;

-- Sign-ins that continue at a provider. hash is the hash of the state parameter, which counts once. sealed contains the
-- nonce and the code verifier.
create table provider_sign_ins (
  tenant_id uuid not null references tenants (id),
  hash bytea not null,
  provider_id uuid not null,
  browser bytea not null,
  query text not null,
  sealed bytea not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, hash)
);
create index provider_sign_ins_by_expiry on provider_sign_ins (tenant_id, expires_at);
grant select, insert, delete on provider_sign_ins to :app_role;
