-- `restarted_at` is the time at which the gateway last started the scan of a run again after an interruption. It is null for a run
-- that was not interrupted.
alter table discovery_runs add column restarted_at timestamptz(3);
