-- The addresses at which a link found the device of an asset, from the connections of the link. The device does not report
-- them. Credentials are delivered only for these addresses.
create table device_addresses (
  tenant_id uuid not null references tenants (id),
  asset_id uuid not null,
  gateway_id uuid not null,
  app_instance_id text collate "C" not null,
  address text collate "C" not null,
  first_found_at timestamptz(3) not null,
  last_found_at timestamptz(3) not null,
  primary key (tenant_id, asset_id, gateway_id, app_instance_id, address)
);
create index device_addresses_by_address on device_addresses (tenant_id, gateway_id, app_instance_id, address);
create index device_addresses_by_age on device_addresses (tenant_id, asset_id, first_found_at);
create index device_addresses_by_last_finding on device_addresses (tenant_id, last_found_at);
grant select, insert, update, delete on device_addresses to :app_role;
