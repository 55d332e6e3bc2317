-- The assignments that wait, run, or have a portion whose results are not stored. There are few of them.
create index hierarchy_assignments_unfinished on hierarchy_assignments (tenant_id, id)
  where state in ('queued', 'running') or portion is not null;
