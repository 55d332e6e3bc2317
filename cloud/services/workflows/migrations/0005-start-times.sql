-- The time at which the client started to work on the job. It is null before that time, and for jobs of earlier versions.
alter table workflow_jobs add column started_at timestamptz(3);
