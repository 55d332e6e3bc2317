-- Read back whole and never searched: to take it apart on its way in is wasted.
alter table audit_entries alter column detail drop default;
alter table audit_entries alter column detail type json using detail::json;
alter table audit_entries alter column detail set default '{}';
