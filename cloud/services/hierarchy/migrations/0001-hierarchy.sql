-- A hierarchy is a tree of nodes. A transaction that changes the structure or the counts of a tree locks this row first.
create table hierarchies (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text collate "C" not null,
  description text,
  template text collate "C",
  rules json not null default '[]',
  rules_version bigint not null default 1,
  nodes integer not null default 0,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint hierarchies_name unique (tenant_id, name)
);
grant select, insert, update, delete on hierarchies to :app_role;

-- Siblings are ordered by rank and id. Ranks have gaps, so that a move changes one row.
create table hierarchy_nodes (
  tenant_id uuid not null,
  id uuid not null,
  hierarchy_id uuid not null,
  -- The id of the hierarchy stands for the top level.
  parent_id uuid not null,
  name text collate "C" not null,
  type text collate "C",
  properties json not null default '{}',
  rank bigint not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index hierarchy_nodes_by_parent on hierarchy_nodes (tenant_id, parent_id, rank, id);
create index hierarchy_nodes_by_name on hierarchy_nodes (tenant_id, hierarchy_id, name, id);
grant select, insert, update, delete on hierarchy_nodes to :app_role;

-- The nodes that were deleted, so that the remaining relations to them can be deleted later.
create table hierarchy_deleted_nodes (
  tenant_id uuid not null,
  id uuid not null,
  hierarchy_id uuid not null,
  -- The node or the hierarchy whose deletion deleted this node.
  deleted_with uuid not null,
  deleted_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index hierarchy_deleted_nodes_by_cause on hierarchy_deleted_nodes (tenant_id, deleted_with, id);
grant select, insert, delete on hierarchy_deleted_nodes to :app_role;

create table hierarchy_moves (
  tenant_id uuid not null,
  id uuid not null,
  hierarchy_id uuid not null,
  node_id uuid not null,
  from_parent_id uuid not null,
  from_position integer not null,
  to_parent_id uuid not null,
  to_position integer not null,
  principal_id uuid,
  principal_name text not null,
  time timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index hierarchy_moves_by_node on hierarchy_moves (tenant_id, node_id, id);
grant select, insert, delete on hierarchy_moves to :app_role;

-- The projection of the assigned assets. It contains the properties that the counts need.
create table hierarchy_assets (
  tenant_id uuid not null,
  hierarchy_id uuid not null,
  asset_id uuid not null,
  node_id uuid not null,
  access_group_id uuid not null,
  is_gateway boolean not null,
  reachability_state text collate "C" not null,
  is_undecided boolean not null,
  changed_at timestamptz(3) not null,
  -- Whether the asset is counted as changed in the last 24 hours.
  is_recent boolean not null,
  primary key (tenant_id, hierarchy_id, asset_id)
);
create index hierarchy_assets_by_asset on hierarchy_assets (tenant_id, asset_id);
create index hierarchy_assets_by_node on hierarchy_assets (tenant_id, node_id, asset_id);
create index hierarchy_assets_recent on hierarchy_assets (tenant_id, changed_at) where is_recent;
grant select, insert, update, delete on hierarchy_assets to :app_role;

-- Counts per node and access group. `assets_here` counts the assets of the node; the others include all nodes below.
-- Gateways and asset links are counted separately, because some callers read them in every access group.
create table hierarchy_counts (
  tenant_id uuid not null,
  node_id uuid not null,
  access_group_id uuid not null,
  is_gateway boolean not null,
  hierarchy_id uuid not null,
  assets_here bigint not null,
  assets bigint not null,
  online bigint not null,
  offline bigint not null,
  undecided bigint not null,
  changed bigint not null,
  primary key (tenant_id, node_id, access_group_id, is_gateway)
);
create index hierarchy_counts_by_hierarchy on hierarchy_counts (tenant_id, hierarchy_id);
grant select, insert, update, delete on hierarchy_counts to :app_role;

-- The position of the last event that the projection of a tenant contains.
create table hierarchy_positions (
  tenant_id uuid not null references tenants (id),
  position bigint not null,
  primary key (tenant_id)
);
grant select, insert, update, delete on hierarchy_positions to :app_role;

-- Assignments of assets to nodes. An assignment by filter continues with the page of `cursor`, an undo after
-- `last_asset_id`.
create table hierarchy_assignments (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  kind text collate "C" not null check (kind in ('ids', 'filter', 'rules', 'undo')),
  state text collate "C" not null check (state in ('queued', 'running', 'finished', 'failed', 'canceled')),
  hierarchy_id uuid not null,
  node_id uuid,
  filter text,
  undoes uuid,
  undone_by uuid,
  total integer not null,
  done integer not null default 0,
  assigned integer not null default 0,
  moved integer not null default 0,
  unchanged integer not null default 0,
  removed integer not null default 0,
  failed integer not null default 0,
  last_asset_id uuid,
  cursor text,
  problem json,
  principal_id uuid not null,
  principal_kind text collate "C" not null,
  principal_name text not null,
  roles json not null,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index hierarchy_assignments_by_hierarchy on hierarchy_assignments (tenant_id, hierarchy_id, id);
grant select, insert, update, delete on hierarchy_assignments to :app_role;

-- The result of each asset of an assignment. Assets that were not changed have no row.
create table hierarchy_assignment_items (
  tenant_id uuid not null,
  assignment_id uuid not null,
  asset_id uuid not null,
  outcome text collate "C" not null,
  node_id uuid,
  previous_node_id uuid,
  code text collate "C",
  detail text,
  primary key (tenant_id, assignment_id, asset_id)
);
grant select, insert, delete on hierarchy_assignment_items to :app_role;
