-- The receipt of a run as the gateway signed it, and the key of the gateway at that time.
create table discovery_receipts (
  tenant_id uuid not null references tenants (id),
  run_id uuid not null,
  key_thumbprint text collate "C" not null,
  receipt text not null,
  received_at timestamptz(3) not null default now(),
  primary key (tenant_id, run_id),
  constraint discovery_receipts_run foreign key (tenant_id, run_id)
    references discovery_runs (tenant_id, id) on delete cascade
);
grant select, insert, update on discovery_receipts to :app_role;
