-- Reference table: the keys that access tokens are signed with. Written by the owner only; the private half is sealed
-- with the master key. A key is published from its creation, signs from active_from, and is published until expires_at.
create table signing_keys (
  kid text collate "C" primary key,
  public_jwk jsonb not null,
  sealed_private_jwk bytea not null,
  created_at timestamptz(3) not null default now(),
  active_from timestamptz(3) not null,
  expires_at timestamptz(3)
);
grant select on signing_keys to :app_role;

create table user_passwords (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  hash text not null,
  changed_at timestamptz(3) not null default now(),
  last_sign_in_at timestamptz(3),
  primary key (tenant_id, principal_id),
  constraint user_passwords_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
grant select, insert, update, delete on user_passwords to :app_role;

create table server_user_secrets (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  client_id text collate "C" not null,
  hash bytea not null,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, principal_id),
  constraint server_user_secrets_client_id unique (tenant_id, client_id),
  constraint server_user_secrets_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
grant select, insert, update, delete on server_user_secrets to :app_role;

-- Sign-ins of browsers. Only the hash of what the cookie holds is kept, here and in the next two tables.
create table sessions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  hash bytea not null,
  principal_id uuid not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint sessions_hash unique (tenant_id, hash),
  constraint sessions_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
create index sessions_by_principal on sessions (tenant_id, principal_id);
create index sessions_by_expiry on sessions (tenant_id, expires_at);
grant select, insert, delete on sessions to :app_role;

-- A used code stays until it expires: its second use ends the family of refresh tokens that its first use began.
create table authorization_codes (
  tenant_id uuid not null references tenants (id),
  hash bytea not null,
  principal_id uuid not null,
  session_id uuid not null,
  family_id uuid not null,
  client_id text collate "C" not null,
  redirect_uri text not null,
  code_challenge text not null,
  scope text,
  used_at timestamptz(3),
  expires_at timestamptz(3) not null,
  primary key (tenant_id, hash),
  constraint authorization_codes_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
create index authorization_codes_by_principal on authorization_codes (tenant_id, principal_id);
create index authorization_codes_by_expiry on authorization_codes (tenant_id, expires_at);
grant select, insert, update, delete on authorization_codes to :app_role;

-- A used token stays until it expires too: to see it again means that it was stolen, and ends its family.
create table refresh_tokens (
  tenant_id uuid not null references tenants (id),
  hash bytea not null,
  principal_id uuid not null,
  session_id uuid not null,
  family_id uuid not null,
  client_id text collate "C" not null,
  scope text,
  used_at timestamptz(3),
  expires_at timestamptz(3) not null,
  family_expires_at timestamptz(3) not null,
  primary key (tenant_id, hash),
  constraint refresh_tokens_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
create index refresh_tokens_by_family on refresh_tokens (tenant_id, family_id);
create index refresh_tokens_by_session on refresh_tokens (tenant_id, session_id);
create index refresh_tokens_by_principal on refresh_tokens (tenant_id, principal_id);
create index refresh_tokens_by_expiry on refresh_tokens (tenant_id, expires_at);
grant select, insert, update, delete on refresh_tokens to :app_role;
