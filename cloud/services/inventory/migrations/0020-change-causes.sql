-- What a change replaced, in short form (see field-changes.ts), and the operation that caused it (see write-cause.ts). Null for
-- changes from before these columns existed. A change that belongs to no larger operation has no cause.
alter table asset_history add column changes json, add column cause_kind text collate "C", add column cause_id uuid,
  add column cause_name text;
-- The changes of one operation are listed together.
create index asset_history_by_cause on asset_history (tenant_id, cause_id, time) where cause_id is not null;
