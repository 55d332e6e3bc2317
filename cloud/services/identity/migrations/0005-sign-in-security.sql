-- A session is one sign-in with a program. authenticated_at is the last time when the user proved their identity.
alter table sessions add column client_id text collate "C" not null default 'console';
alter table sessions add column user_agent text not null default '';
alter table sessions add column address text;
alter table sessions add column last_used_at timestamptz(3) not null default now();
alter table sessions add column authenticated_at timestamptz(3) not null default now();
alter table sessions add column methods text[] not null default '{pwd}';
alter table sessions add column provider_id uuid;
-- The session id of the provider (sid), and the encrypted ID token, which the provider needs for the sign-out.
alter table sessions add column provider_session text collate "C";
alter table sessions add column sealed_id_token bytea;
alter table sessions add column unfamiliar boolean not null default false;
create index sessions_by_provider on sessions (tenant_id, provider_id, provider_session);
grant update on sessions to :app_role;

-- The devices with which a user signed in: a keyed hash of the browser and the network.
create table known_devices (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  device bytea not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, principal_id, device),
  constraint known_devices_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
create index known_devices_by_expiry on known_devices (tenant_id, expires_at);
grant select, insert, update, delete on known_devices to :app_role;

-- The secret of an authenticator app. It counts from confirmed_at. A time step is accepted once.
create table totp_secrets (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  sealed_secret bytea not null,
  created_at timestamptz(3) not null default now(),
  confirmed_at timestamptz(3),
  last_step bigint,
  primary key (tenant_id, principal_id),
  constraint totp_secrets_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
grant select, insert, update, delete on totp_secrets to :app_role;

create table passkeys (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  principal_id uuid not null,
  name text not null,
  credential_id bytea not null,
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null default '{}',
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3),
  primary key (tenant_id, id),
  constraint passkeys_credential unique (tenant_id, credential_id),
  constraint passkeys_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
create index passkeys_by_principal on passkeys (tenant_id, principal_id);
grant select, insert, update, delete on passkeys to :app_role;

-- Only hashes. A used code is deleted.
create table recovery_codes (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  hash bytea not null,
  primary key (tenant_id, principal_id, hash),
  constraint recovery_codes_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
grant select, insert, delete on recovery_codes to :app_role;

-- The challenge of a WebAuthn ceremony of a signed-in user, for one purpose at a time.
create table passkey_challenges (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  purpose text collate "C" not null check (purpose in ('registration', 'step-up')),
  challenge text not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, principal_id, purpose),
  constraint passkey_challenges_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
create index passkey_challenges_by_expiry on passkey_challenges (tenant_id, expires_at);
grant select, insert, update, delete on passkey_challenges to :app_role;

-- Sign-ins with a correct password that wait for the second factor. hash is the hash of the token in the form,
-- browser is the hash of the form cookie, query is the authorization request. methods are the factors that the user
-- proved in addition to the password, while the page with the recovery codes is shown.
create table pending_sign_ins (
  tenant_id uuid not null references tenants (id),
  hash bytea not null,
  principal_id uuid not null,
  browser bytea not null,
  query text not null,
  challenge text,
  challenge_expires_at timestamptz(3),
  sealed_totp_secret bytea,
  methods text[] not null default '{}',
  failures integer not null default 0,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, hash),
  constraint pending_sign_ins_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
create index pending_sign_ins_by_expiry on pending_sign_ins (tenant_id, expires_at);
grant select, insert, update, delete on pending_sign_ins to :app_role;
