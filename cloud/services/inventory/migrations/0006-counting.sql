-- How many relations came and went since this is counted: while it is the same, so are they.
alter table relation_counts add column changes bigint not null default 0;

-- What is asked for together with others is counted in the index: assets are wide, and only a few of them fit on a page.
drop index assets_by_type;
drop index assets_by_product;
drop index assets_by_manufacturer;
drop index assets_by_management_state;
create index assets_by_type on assets (tenant_id, type, id)
  include (access_group_id, management_state, reachability_state, manufacturer, product_id);
create index assets_by_product on assets (tenant_id, product_id, id)
  include (access_group_id, type, management_state, reachability_state, manufacturer);
create index assets_by_manufacturer on assets (tenant_id, manufacturer, id)
  include (access_group_id, type, management_state, reachability_state, product_id);
create index assets_by_management_state on assets (tenant_id, management_state, id)
  include (access_group_id, type, reachability_state, manufacturer, product_id);
