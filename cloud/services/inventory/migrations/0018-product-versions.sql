-- The number of assets with each manufacturer, product and firmware version is a facet. `facet-store.ts` computes the values
-- of new assets; here they are computed for the stored ones.
insert into asset_facets (tenant_id, facet, value, access_group_id, assets)
select a.tenant_id, 'product_firmware_version',
  case when a.type = 'SoftwareArtifact' or a.manufacturer is null
      or (a.product_id is null and a.product_name is null) then null
    else left(translate(coalesce(a.manufacturer, ''), E'\u001f', ' '), 128) || E'\u001f'
      || left(translate(coalesce(a.product_id, ''), E'\u001f', ' '), 128) || E'\u001f'
      || left(translate(coalesce(a.product_name, ''), E'\u001f', ' '), 128) || E'\u001f'
      || left(translate(coalesce(a.firmware_version, ''), E'\u001f', ' '), 128) end as value,
  a.access_group_id, count(*)
from assets a group by 1, 2, 3, 4;
