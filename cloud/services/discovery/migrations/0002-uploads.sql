-- What is handed in lives for a moment, was printed by the program, and is read by nothing but it: it need not be read to
-- be stored, and compressing it costs more than storing it. Where tables are distributed, storage cannot be changed any more.
alter table discovery_uploads alter column payload type text using payload::text;
do $$
begin
  if not exists (select from pg_extension where extname = 'citus') then
    alter table discovery_uploads alter column payload set storage external;
  end if;
end $$;
