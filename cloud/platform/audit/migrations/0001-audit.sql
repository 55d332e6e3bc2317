-- Append-only. The application inserts and reads; all it may update is the seal (place in the hash chain and hash), and
-- that once. Entries are written without a seal so that writers do not queue behind each other for the end of the
-- chain: one relay per tenant seals what has been committed.
create table audit_entries (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  -- The time within the id: a range of times is a range of ids, and every index below serves it.
  time timestamptz(3) not null,
  action text collate "C" not null,
  outcome text collate "C" not null check (outcome in ('done', 'denied', 'failed')),
  principal_id uuid,
  principal_name text not null,
  principal_kind text not null,
  target text collate "C",
  request_id text collate "C",
  address text,
  detail jsonb not null default '{}',
  sequence bigint,
  hash bytea,
  primary key (tenant_id, id)
);
create unique index audit_entries_by_sequence on audit_entries (tenant_id, sequence) where sequence is not null;
create index audit_entries_unsealed on audit_entries (tenant_id, id) where sequence is null;
create index audit_entries_by_action on audit_entries (tenant_id, action, id);
create index audit_entries_by_outcome on audit_entries (tenant_id, outcome, id) where outcome <> 'done';
create index audit_entries_by_principal on audit_entries (tenant_id, principal_id, id) where principal_id is not null;
create index audit_entries_by_target on audit_entries (tenant_id, target, id) where target is not null;
create index audit_entries_by_request on audit_entries (tenant_id, request_id, id) where request_id is not null;
alter table audit_entries enable row level security;
create policy tenant_select on audit_entries for select
  using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid);
create policy tenant_insert on audit_entries for insert
  with check (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid and sequence is null);
create policy tenant_seal on audit_entries for update
  using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid and sequence is null)
  with check (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid and sequence is not null);
grant select, insert, update (sequence, hash) on audit_entries to :app_role;

-- The end of the chain, authenticated with a key that is not in the database: rewriting the whole chain shows.
create table audit_heads (
  tenant_id uuid not null references tenants (id),
  sequence bigint not null,
  hash bytea not null,
  mac bytea not null,
  primary key (tenant_id)
);
grant select, insert, update on audit_heads to :app_role;
