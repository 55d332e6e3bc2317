-- A token of a company's own identity provider says where each of its roles counts: what it sent is applied with no more.
alter table operations add column grants json;

-- What a tenant wants of its inventory. A tenant without a row has never said anything, and keeps everything.
create table inventory_settings (
  tenant_id uuid primary key references tenants (id),
  -- For how long the past is kept; null is for ever.
  history_days integer check (history_days > 0),
  -- Before this the past is not told any more. It only ever moves on: what was forgotten does not come back.
  history_from timestamptz(3),
  -- How far what lies before it has been deleted.
  pruned_to timestamptz(3),
  version bigint not null default 1,
  modified_at timestamptz(3) not null
);
grant select, insert, update on inventory_settings to :app_role;

create index asset_history_by_age on asset_history (tenant_id, time);
create index ended_relations_by_age on ended_relations (tenant_id, ended_at);
grant delete on asset_history, ended_relations, asset_merges to :app_role;
