-- Checked for every entry, although the policy allows no other tenant than the one that is bound. A tenant is deleted
-- with every row that says its name.
alter table audit_entries drop constraint audit_entries_tenant_id_fkey;
