-- Citus moves a tenant with logical replication, which needs a primary key or a replica identity. The unique key of this
-- table contains a nullable column, so the whole row identifies a row.
alter table asset_facets replica identity full;
