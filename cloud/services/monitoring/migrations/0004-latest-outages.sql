-- The list of unreachable devices, latest outage first. Without this index it would read the current states of all monitored assets.
create index asset_availability_failed on asset_availability (tenant_id, from_at desc, asset_id)
  where to_at is null and state = 'failed';
