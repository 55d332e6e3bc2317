-- Who stated a relation first; null for those from before this was kept.
alter table relations add column created_by_id uuid, add column created_by_name text;
alter table ended_relations add column created_by_id uuid, add column created_by_name text;
