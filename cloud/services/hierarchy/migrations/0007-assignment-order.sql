-- The number of assignments to the node. The deletion of a node counts the relations before it locks the hierarchy. If this
-- number has changed with the lock, it counts them again.
alter table hierarchy_nodes add column assignments bigint not null default 0;

-- The place of a result in the list of results. A cursor contains it, because the id of an asset may be hidden.
alter table hierarchy_assignment_items add column ordinal integer not null default 0;
update hierarchy_assignment_items i set ordinal = o.ordinal
from (select tenant_id, assignment_id, asset_id,
             row_number() over (partition by tenant_id, assignment_id order by asset_id)::integer as ordinal
      from hierarchy_assignment_items) as o
where i.tenant_id = o.tenant_id and i.assignment_id = o.assignment_id and i.asset_id = o.asset_id;
create index hierarchy_assignment_items_by_ordinal on hierarchy_assignment_items (tenant_id, assignment_id, ordinal);
