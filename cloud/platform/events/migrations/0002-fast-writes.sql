-- Checked for every event, although the policy allows no other tenant than the one that is bound. A tenant is deleted
-- with every row that says its name.
alter table events drop constraint events_tenant_id_fkey;
