-- The list of jobs shows a campaign as one job. Without this index it would read the jobs of all its devices.
create index workflow_jobs_without_devices on workflow_jobs (tenant_id, id) where workflow <> 'artefact-update';
