-- Maintenance windows of hierarchy nodes. A window also applies to all nodes below its node. A window of a deleted node has
-- no effect and is deleted by a task.
create table update_windows (
  tenant_id uuid not null references tenants (id),
  node_id uuid not null,
  cron text collate "C" not null,
  minutes integer not null,
  timezone text collate "C" not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, node_id)
);
grant select, insert, update, delete on update_windows to :app_role;
