-- Orders the events that wait for a position. Their ids come from the clocks of several hosts and cannot do that.
alter table events add column ordinal bigint not null default 0;
drop index events_waiting;
create index events_waiting on events (tenant_id, ordinal, id) where position is null;
