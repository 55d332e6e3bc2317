-- A run has one receipt for each lease under which its gateway scanned. Earlier receipts have no known lease, and their
-- state and times are only in the receipt.
alter table discovery_receipts add column lease uuid not null default '00000000-0000-0000-0000-000000000000';
alter table discovery_receipts alter column lease drop default;
alter table discovery_receipts add column state text collate "C";
alter table discovery_receipts add column scanned_from timestamptz(3);
alter table discovery_receipts add column scanned_to timestamptz(3);
alter table discovery_receipts drop constraint discovery_receipts_pkey;
alter table discovery_receipts add constraint discovery_receipts_pkey primary key (tenant_id, run_id, lease);
