-- The size of the properties of all nodes, as JSON text. It is limited, because an export reads the whole tree.
alter table hierarchies add column property_bytes bigint not null default 0;
update hierarchies h set property_bytes = s.bytes
from (select tenant_id, hierarchy_id, sum(octet_length(properties::text)) as bytes from hierarchy_nodes
      group by tenant_id, hierarchy_id) as s
where h.tenant_id = s.tenant_id and h.id = s.hierarchy_id;

-- The number of attempts in succession that exceeded a time limit or lost against other work.
alter table hierarchy_assignments add column timeouts integer not null default 0;
