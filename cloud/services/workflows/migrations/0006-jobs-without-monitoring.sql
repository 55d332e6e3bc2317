-- The list of jobs leaves out finished monitoring runs, which are most of the jobs of a plant. Without these indexes it would read all
-- of them. The first index is for lists with the jobs of devices, the second for lists without them.
create index workflow_jobs_without_monitoring on workflow_jobs (tenant_id, id) where workflow <> 'monitoring' or phase <> 'finished';
create index workflow_jobs_without_devices_and_monitoring on workflow_jobs (tenant_id, id)
  where workflow <> 'artefact-update' and (workflow <> 'monitoring' or phase <> 'finished');
