-- The tokens of the name, for the search of a text inside names. name-tokens.ts describes and computes them; here they are
-- computed for the nodes that are stored already.
alter table hierarchy_nodes add column name_tokens tsvector not null default '';

update hierarchy_nodes set name_tokens = array_to_tsvector(array(
  select distinct right(hierarchy_id::text, 4) || substr(lower(name collate "default"), i, 3)
  from generate_series(1, length(name)) as i));

create index hierarchy_nodes_by_token on hierarchy_nodes using gin (name_tokens) with (gin_pending_list_limit = 256);
