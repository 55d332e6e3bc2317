-- The trace that the work on a job continues (W3C Trace Context). It is null if the trace is not exported.
alter table workflow_jobs add column traceparent text collate "C";
