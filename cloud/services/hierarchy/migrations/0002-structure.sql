-- Changes with every change of the nodes of the hierarchy. A list of nodes that was read with the same value is current.
alter table hierarchies add column structure bigint not null default 1;

-- The assets that a running assignment changes next. They are stored before the change, so that the same request is sent
-- again after a crash.
alter table hierarchy_assignments add column portion json;

create index hierarchy_deleted_nodes_by_time on hierarchy_deleted_nodes (tenant_id, deleted_at, id);
