-- The principal that started a job of the platform itself, such as an export. Such a job has no gateway.
alter table workflow_jobs add column principal_id uuid;
create index workflow_jobs_by_principal on workflow_jobs (tenant_id, principal_id, id) where principal_id is not null;
