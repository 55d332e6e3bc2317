-- Foreign keys are checked row by row, which cost more than writing the rows. The applier is the only one that writes
-- these tables: it adds what belongs to an asset after the asset, and takes it away before. A tenant is deleted with
-- every row that says its name.
alter table assets drop constraint assets_tenant_id_fkey;
alter table asset_history drop constraint asset_history_tenant_id_fkey;
alter table operations drop constraint operations_tenant_id_fkey;
alter table relations drop constraint relations_tenant_id_fkey;
alter table ended_relations drop constraint ended_relations_tenant_id_fkey;
alter table asset_identifiers drop constraint asset_identifiers_asset;
alter table asset_addresses drop constraint asset_addresses_asset;
alter table asset_property_values drop constraint asset_property_values_asset;

-- A group with assets cannot be deleted. Its count refers to it, once for all of them; an empty group has no count.
delete from asset_counts where assets = 0;
alter table assets drop constraint assets_access_group;
alter table asset_counts drop constraint asset_counts_access_group;
alter table asset_counts drop constraint asset_counts_tenant_id_fkey;
alter table asset_counts add constraint assets_access_group foreign key (tenant_id, access_group_id)
  references access_groups (tenant_id, id);

-- What nobody looks into is text: it was printed by the program, and need not be read to be stored.
alter table operations alter column payload type text using payload::text;
alter table operations alter column result type text using result::text;
alter table operations alter column roles type text using array_to_json(roles)::text;

-- Ids tell the age.
drop index operations_by_age;

-- Compressing costs more than storing. What is queued lives for a moment, and an asset is only a little larger than what
-- a row may have without being compressed. Where tables are distributed, storage cannot be changed any more.
alter table assets set (toast_tuple_target = 4080);
do $$
begin
  if not exists (select from pg_extension where extname = 'citus') then
    alter table operations alter column payload set storage external;
    alter table operations alter column result set storage external;
    alter table assets alter column document set storage external;
  end if;
end $$;
