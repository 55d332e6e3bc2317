-- The activity lists and counts the changes of one person.
create index asset_history_by_principal on asset_history (tenant_id, principal_id, time) where principal_id is not null;
