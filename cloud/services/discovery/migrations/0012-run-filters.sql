-- The filters with which a run started. Runs with other filters search another part of the network, so they are not compared.
-- It is null for runs of older versions.
alter table discovery_runs add column filters json;
