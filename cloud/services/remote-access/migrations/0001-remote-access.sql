-- Sessions of remote access. The policy of the access group is copied to the session when it is requested. `streams` is the
-- number of open streams. `closed_at` is set when the last bytes of an ended session are counted and its audit entry is
-- written. `reported_state` is the state that the job of the session has.
create table remote_sessions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  job_id uuid not null,
  state text collate "C" not null check (state in ('pending-approval', 'connecting', 'open', 'ended')),
  reported_state text collate "C",
  asset_id uuid not null,
  asset_name text not null,
  access_group_id uuid not null,
  gateway_id uuid not null,
  service text collate "C" not null check (service in ('ssh', 'http', 'https', 'tcp')),
  address text collate "C",
  is_own_address boolean not null default false,
  port integer not null,
  credential_instance_id uuid,
  reason text,
  principal_id uuid not null,
  principal_kind text collate "C" not null,
  principal_name text not null,
  roles json not null,
  decided_by_id uuid,
  decided_by_name text,
  needs_approval boolean not null,
  recording text collate "C" not null check (recording in ('none', 'terminal', 'all')),
  duration_minutes integer not null,
  idle_minutes integer not null,
  streams integer not null default 0,
  sent_bytes bigint not null default 0,
  received_bytes bigint not null default 0,
  recording_bytes bigint not null default 0,
  recording_parts integer not null default 0,
  recording_chain bytea,
  recording_digest text collate "C",
  is_recording_deleted boolean not null default false,
  ending text collate "C",
  ending_detail text,
  ended_by_id uuid,
  ended_by_name text,
  created_at timestamptz(3) not null,
  opened_at timestamptz(3),
  active_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  closed_at timestamptz(3),
  primary key (tenant_id, id)
);
create index remote_sessions_by_asset on remote_sessions (tenant_id, asset_id, id);
create index remote_sessions_by_principal on remote_sessions (tenant_id, principal_id, id);
create index remote_sessions_by_gateway on remote_sessions (tenant_id, gateway_id, id);
create index remote_sessions_by_state on remote_sessions (tenant_id, state, id);
create index remote_sessions_unclosed on remote_sessions (tenant_id, id) where closed_at is null;
create index remote_sessions_by_end on remote_sessions (tenant_id, ended_at) where ended_at is not null;
create index remote_sessions_recorded on remote_sessions (tenant_id, id) where recording_parts > 0;
create index remote_sessions_unreported on remote_sessions (tenant_id, id) where reported_state is distinct from state;
grant select, insert, update, delete on remote_sessions to :app_role;

-- Policies of access groups. An access group without a row has the default policy.
create table remote_policies (
  tenant_id uuid not null references tenants (id),
  access_group_id uuid not null,
  policy json not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, access_group_id)
);
grant select, insert, update, delete on remote_policies to :app_role;

-- Switches of remote access. The row with the nil id is the switch of the tenant, the other ids are gateways.
create table remote_switches (
  tenant_id uuid not null references tenants (id),
  gateway_id uuid not null,
  is_enabled boolean not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, gateway_id)
);
grant select, insert, update, delete on remote_switches to :app_role;

-- Tickets with which a browser opens a stream or enters a web session. Only the hash is stored, and a used ticket is deleted.
create table remote_tickets (
  tenant_id uuid not null references tenants (id),
  hash bytea not null,
  session_id uuid not null,
  principal_id uuid not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, hash)
);
create index remote_tickets_by_session on remote_tickets (tenant_id, session_id);
create index remote_tickets_by_expiry on remote_tickets (tenant_id, expires_at);
grant select, insert, delete on remote_tickets to :app_role;

-- Cookies of web sessions. Only the hash of the secret is stored.
create table remote_web_entries (
  tenant_id uuid not null references tenants (id),
  session_id uuid not null,
  hash bytea not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, session_id, hash)
);
grant select, insert, delete on remote_web_entries to :app_role;

-- The recordings of sessions in parts. The parts are sealed. `chain` is the hash of the previous chain and of the part.
create table remote_recording_parts (
  tenant_id uuid not null references tenants (id),
  session_id uuid not null,
  number integer not null,
  sealed bytea not null,
  chain bytea not null,
  primary key (tenant_id, session_id, number)
);
-- Sealed bytes cannot be compressed.
alter table remote_recording_parts alter column sealed set storage external;
grant select, insert, update, delete on remote_recording_parts to :app_role;

-- The host keys of devices. The first key that a device shows is stored.
create table remote_host_keys (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  asset_id uuid not null,
  port integer not null,
  algorithm text collate "C" not null,
  fingerprint text collate "C" not null,
  first_seen_at timestamptz(3) not null,
  last_seen_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create unique index remote_host_keys_by_asset on remote_host_keys (tenant_id, asset_id, port);
grant select, insert, update, delete on remote_host_keys to :app_role;

-- The tunnels of gateways: the process that holds the tunnel, its address for other processes, and its last sign of life.
create table remote_tunnels (
  tenant_id uuid not null references tenants (id),
  gateway_id uuid not null,
  process_id uuid not null,
  process_url text not null,
  connected_at timestamptz(3) not null,
  seen_at timestamptz(3) not null,
  primary key (tenant_id, gateway_id)
);
create index remote_tunnels_by_process on remote_tunnels (tenant_id, process_id);
grant select, insert, update, delete on remote_tunnels to :app_role;
