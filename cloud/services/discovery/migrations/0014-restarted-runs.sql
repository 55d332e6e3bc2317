-- `restarted_at` is the time at which the gateway last started the scan of a run again after an interruption. It is null for a run
-- that was not interrupted. `attempt_lease` is the lease under which this attempt began. A gateway that continues its scan after its
-- lease expired has later leases in the same attempt.
alter table discovery_runs add column restarted_at timestamptz(3);
alter table discovery_runs add column attempt_lease uuid;
