-- The instances that the devices at some addresses refused.
create index credential_uses_refused on credential_uses (tenant_id, gateway_id, address) where failed_at is not null;
