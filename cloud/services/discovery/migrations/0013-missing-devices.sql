-- `last_run` is the number of the run that last found a device that is gone. It is null for a device that is not gone, and for findings of
-- older versions. `newly_gone` counts the devices of a run that are gone and that the compared run found. It is null for runs of older
-- versions, in which it equals `gone`.
alter table discovery_findings add column last_run integer;
alter table discovery_runs add column newly_gone integer;
