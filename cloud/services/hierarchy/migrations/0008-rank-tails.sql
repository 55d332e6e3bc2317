-- The second part of the place of a node among its siblings. Between two neighbouring ranks, nodes have the same rank and
-- different tails, so that a new place needs no change of the siblings.
alter table hierarchy_nodes add column rank_tail text collate "C" not null default '';
create index hierarchy_nodes_by_place on hierarchy_nodes (tenant_id, parent_id, rank, rank_tail, id);
drop index hierarchy_nodes_by_parent;

-- How often siblings of the hierarchy got new ranks. A cursor of a list contains this number.
alter table hierarchies add column renumberings bigint not null default 0;

-- The number of assets that an undo left at their place, with a reason.
alter table hierarchy_assignments add column kept integer not null default 0;
update hierarchy_assignments set kept = unchanged where kind = 'undo';
