-- Orders the changes of relations in their history. Their times come from the clocks of several hosts and cannot do that.
alter table relations add column created_ordinal bigint not null default 0;
alter table ended_relations add column created_ordinal bigint not null default 0, add column ended_ordinal bigint not null default 0;
