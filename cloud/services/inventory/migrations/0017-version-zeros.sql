-- Zeros at the end of the numbers of a version no longer count in the order of firmware versions: 2.8 and 2.8.0 are equal.
-- version-order.ts describes and computes the key; here it is computed for the stored assets whose key has such a zero.
update assets set firmware_order = left(replace(regexp_replace(coalesce((
  select string_agg(
    E'\u0001' || case
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
), ''), '(\u00010)+(?=\u0001[!$]|$)', '', 'g'), E'\u0001', '') || '#', 256)
where firmware_version is not null and (firmware_order ~ '0[!#$]' or length(firmware_order) = 256);
