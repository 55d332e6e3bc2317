-- State machines that the tenant brought; those that come with the product are not here. They never change: the right to
-- update is what a lock on a row needs.
create table workflows (
  tenant_id uuid not null references tenants (id),
  name text collate "C" not null,
  document json not null,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, name)
);
grant select, insert, update (created_at), delete on workflows to :app_role;

-- Jobs. Their ids are in the order of their creation. What follows from workflow and state is kept beside the state, so
-- that lists can go by it: the group, the phase, whether it is final, whether the client has something to do.
create table workflow_jobs (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  client_id text collate "C" not null,
  workflow text collate "C" not null,
  definition json not null,
  definition_hash text collate "C" not null,
  state text collate "C" not null,
  state_group text collate "C",
  phase text collate "C" not null,
  is_final boolean not null,
  awaits_client boolean not null,
  reported_by text collate "C",
  progress smallint,
  message text,
  context json,
  -- How many entries its history has had.
  version integer not null default 0,
  lease_id uuid,
  lease_seconds integer,
  lease_until timestamptz(3),
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index workflow_jobs_by_client on workflow_jobs (tenant_id, client_id, id);
create index workflow_jobs_by_client_and_state on workflow_jobs (tenant_id, client_id, state, id);
create index workflow_jobs_by_workflow on workflow_jobs (tenant_id, workflow, id);
create index workflow_jobs_by_state on workflow_jobs (tenant_id, state, id);
create index workflow_jobs_by_group on workflow_jobs (tenant_id, state_group, id);
create index workflow_jobs_by_phase on workflow_jobs (tenant_id, phase, id);
-- What may be offered to clients, and what may be forgotten.
create index workflow_jobs_open on workflow_jobs (tenant_id, client_id, id) where awaits_client;
create index workflow_jobs_over on workflow_jobs (tenant_id, modified_at) where is_final;
grant select, insert, update, delete on workflow_jobs to :app_role;

create table workflow_job_tags (
  tenant_id uuid not null,
  tag text collate "C" not null,
  job_id uuid not null,
  primary key (tenant_id, tag, job_id),
  constraint workflow_job_tags_job foreign key (tenant_id, job_id) references workflow_jobs (tenant_id, id) on delete cascade
);
create index workflow_job_tags_by_job on workflow_job_tags (tenant_id, job_id, tag);
grant select, insert, delete on workflow_job_tags to :app_role;

-- What a job was before: the status or the definition that a change replaced, and since when it had been so.
create table workflow_job_history (
  tenant_id uuid not null,
  job_id uuid not null,
  number integer not null,
  modified_at timestamptz(3) not null,
  status json,
  definition json,
  primary key (tenant_id, job_id, number),
  constraint workflow_job_history_job foreign key (tenant_id, job_id) references workflow_jobs (tenant_id, id) on delete cascade
);
grant select, insert, delete on workflow_job_history to :app_role;
