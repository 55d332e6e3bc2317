-- Requests that came with an Idempotency-Key, and what was answered. Kept for a day.
create table idempotent_requests (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  key text collate "C" not null,
  fingerprint bytea not null,
  status integer not null,
  headers jsonb not null default '{}',
  body text,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, principal_id, key)
);
create index idempotent_requests_by_age on idempotent_requests (tenant_id, created_at);
grant select, insert, delete on idempotent_requests to :app_role;
