-- The trace that a task continues (W3C Trace Context). It is null if the trace is not exported.
alter table jobs add column traceparent text collate "C";
