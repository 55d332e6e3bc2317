-- The rights with which the content of an export was read. A download requires these rights. Earlier exports have none, so
-- their content cannot be downloaded any more. It expires after one day.
alter table exports add column read_rights json;
