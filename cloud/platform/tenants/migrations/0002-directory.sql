-- The directory stays on the coordinator of a cluster, where no foreign key can check its tenants. Every transaction that
-- inserts an entry also writes rows of the tenant, whose foreign keys refuse a deleted tenant.
alter table directory drop constraint directory_tenant_id_fkey;
