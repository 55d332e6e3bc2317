-- `scope` contains the filters and options with which a run started. Runs with another scope search another part of the network, so
-- they are not compared. It is null for runs of older versions. `compared_run` is the number of the run with which a run was compared.
alter table discovery_runs add column scope json, add column compared_run integer;
