-- Whether the job of a session has the state of the session. The planner has statistics of this column, unlike of a
-- comparison of two columns.
drop index remote_sessions_unreported;
alter table remote_sessions add column is_reported boolean not null default false;
alter table remote_sessions drop column reported_state;
create index remote_sessions_unreported on remote_sessions (tenant_id, id) where not is_reported;
