-- The problem code of a device that the inventory refused, such as identity_taken.
alter table discovery_errors add column reason text collate "C";
