-- What an asset is found by in free text: every place where a word begins, up to where the text between blanks ends. In
-- a row of its own, because an asset changes more often than its words, and a full-text index is dear to change. Words
-- begin with a mark of the tenant, so that nobody's index look-up passes through the words of others.
create table asset_words (
  tenant_id uuid not null,
  asset_id uuid not null,
  words tsvector not null,
  primary key (tenant_id, asset_id),
  constraint asset_words_asset foreign key (tenant_id, asset_id) references assets (tenant_id, id) on delete cascade
);
insert into asset_words (tenant_id, asset_id, words)
select a.tenant_id, a.id, array_to_tsvector(array(
  select distinct right(a.tenant_id::text, 4) || substr(c.chunk, n, 48)
  from regexp_split_to_table(a.search, '\s+') as c (chunk), generate_series(1, length(c.chunk)) as n
  where substr(c.chunk, n, 1) ~ '[[:alnum:]]' and (n = 1 or substr(c.chunk, n - 1, 1) !~ '[[:alnum:]]')))
from assets a;
create index asset_words_by_word on asset_words using gin (words) with (gin_pending_list_limit = 1024);
grant select, insert, update, delete on asset_words to :app_role;
alter table assets drop column search;

-- How many assets of each access group have which value: what is asked most often is known without counting.
create table asset_facets (
  tenant_id uuid not null references tenants (id),
  facet text collate "C" not null,
  value text collate "C",
  access_group_id uuid not null,
  assets bigint not null,
  constraint asset_facets_once unique nulls not distinct (tenant_id, facet, value, access_group_id),
  constraint asset_facets_access_group foreign key (tenant_id, access_group_id)
    references access_groups (tenant_id, id) on delete cascade
);
insert into asset_facets (tenant_id, facet, value, access_group_id, assets)
select a.tenant_id, f.facet, f.value, a.access_group_id, count(*)
from assets a, lateral (values ('type', a.type), ('management_state', a.management_state),
  ('reachability_state', a.reachability_state), ('trust_state', a.trust_state), ('responsible', a.responsible),
  ('firmware_version', a.firmware_version), ('operating_mode', a.operating_mode), ('manufacturer', a.manufacturer),
  ('product_id', a.product_id), ('product_family', a.product_family), ('product_name', a.product_name)) as f (facet, value)
group by a.tenant_id, f.facet, f.value, a.access_group_id;
grant select, insert, update, delete on asset_facets to :app_role;

-- How many relations each predicate has. In several rows each, so that who relates things at the same time seldom waits
-- for others who count with the same predicate.
create table relation_counts (
  tenant_id uuid not null references tenants (id),
  predicate text collate "C" not null,
  part smallint not null,
  relations bigint not null,
  primary key (tenant_id, predicate, part)
);
insert into relation_counts (tenant_id, predicate, part, relations)
select tenant_id, predicate, 0, count(*) from relations group by tenant_id, predicate;
grant select, insert, update, delete on relation_counts to :app_role;

create index assets_by_group_and_type on assets (tenant_id, access_group_id, type, id);
