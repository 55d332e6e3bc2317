-- Assets are sorted by their firmware version as versions are ordered: 1.9 comes before 1.10. version-order.ts describes and
-- computes the key; here it is computed for the assets that are stored already.
alter table assets add column firmware_order text collate "C";

update assets set firmware_order = left(coalesce((
  select string_agg(
    case
      when p.part !~ '^[0-9]' then
        case when p.part in ('alpha', 'beta', 'dev', 'nightly', 'pre', 'preview', 'rc', 'snapshot') then '!' else '$' end || p.part
      when length(ltrim(p.part, '0')) <= 30 then chr(48 + length(ltrim(p.part, '0'))) || ltrim(p.part, '0')
      else 'O' || lpad(length(ltrim(p.part, '0'))::text, 6, '0') || ltrim(p.part, '0')
    end, '' order by p.place)
  from (
    select m.found[1] as part, m.place, lead(m.found[1]) over (order by m.place) as following
    from regexp_matches(
      translate(firmware_version, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'),
      '[0-9]+|[^\u0001-\u0060\u007b-\u007f]+', 'g') with ordinality as m (found, place)
  ) as p
  where p.place > 1 or p.part not in ('v', 'ver', 'version') or p.following is null or p.following !~ '^[0-9]'
), '') || '#', 256)
where firmware_version is not null;

create index assets_by_firmware on assets (tenant_id, firmware_order, id);
