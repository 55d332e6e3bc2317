-- The discovery run that created an asset. Null for assets that no gateway reported, and for assets that were created before
-- this column existed.
alter table assets add column found_run_id uuid;
