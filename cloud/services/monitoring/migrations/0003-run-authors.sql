-- The name of the user that started a run. It is null for runs of the schedule and of older versions.
alter table monitoring_runs add column started_by text;
