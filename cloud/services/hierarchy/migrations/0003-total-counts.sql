-- A row with this access group has the counts of all groups, so that callers that read all groups need not sum the groups.
insert into hierarchy_counts (tenant_id, node_id, access_group_id, is_gateway, hierarchy_id, assets_here, assets, online,
                              offline, undecided, changed)
select tenant_id, node_id, '00000000-0000-0000-0000-000000000000', is_gateway, hierarchy_id, sum(assets_here), sum(assets),
       sum(online), sum(offline), sum(undecided), sum(changed)
from hierarchy_counts group by tenant_id, node_id, is_gateway, hierarchy_id
on conflict (tenant_id, node_id, access_group_id, is_gateway) do nothing;

-- The counts of the upper nodes change often. Room on each page lets the server update them in place.
alter table hierarchy_counts set (fillfactor = 70);
