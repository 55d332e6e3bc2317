-- The latest leases of the run's job: uploads name one of them. Null for runs that began before leases were recorded.
alter table discovery_runs add column leases uuid[];
alter table discovery_runs alter column leases set default '{}';
