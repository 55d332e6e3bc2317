-- The list of jobs leaves out finished monitoring runs, which are most of the jobs of a plant. Without this index it would read all of them.
create index workflow_jobs_without_monitoring on workflow_jobs (tenant_id, id)
  where workflow <> 'artefact-update' and (workflow <> 'monitoring' or phase <> 'finished');
