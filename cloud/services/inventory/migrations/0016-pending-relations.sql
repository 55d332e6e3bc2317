-- Relations that a gateway reported of an asset to a device that is not in the inventory yet, one row for each identifier
-- of this device. When the gateway reports a device with the identifier `key`, the relation is written, and all rows with
-- the same `first_key` are deleted.
create table pending_relations (
  tenant_id uuid not null references tenants (id),
  asset_id uuid not null,
  gateway_id uuid not null,
  predicate text collate "C" not null,
  -- The role of the other device: subject, object, or both for a relation in both directions.
  role text collate "C" not null,
  key text collate "C" not null,
  first_key text collate "C" not null,
  source_value text,
  reported_at timestamptz(3) not null,
  primary key (tenant_id, asset_id, gateway_id, predicate, role, key),
  constraint pending_relations_asset foreign key (tenant_id, asset_id) references assets (tenant_id, id) on delete cascade,
  constraint pending_relations_gateway foreign key (tenant_id, gateway_id) references assets (tenant_id, id) on delete cascade
);
create index pending_relations_by_key on pending_relations (tenant_id, gateway_id, key);
grant select, insert, update, delete on pending_relations to :app_role;
