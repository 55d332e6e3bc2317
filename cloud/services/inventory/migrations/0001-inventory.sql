-- An asset as it is now. `document` is the read shape as text, without id and access group, which are spliced in when it
-- is read: what is read often is printed once. What is filtered and sorted often is a column of its own.
create table assets (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  access_group_id uuid not null,
  type text collate "C" not null,
  schema_url text collate "C" not null,
  document json not null,
  name text collate "C",
  description text collate "C",
  serial_number text collate "C",
  product_id text collate "C",
  product_version text collate "C",
  product_name text collate "C",
  product_family text collate "C",
  manufacturer text collate "C",
  firmware_version text collate "C",
  operating_mode text collate "C",
  management_state text collate "C" not null,
  management_state_at timestamptz(3),
  reachability_state text collate "C" not null,
  reachability_state_at timestamptz(3),
  trust_state text collate "C",
  trust_state_at timestamptz(3),
  responsible text collate "C" not null,
  -- All its text, lower-case: what free-text search looks at.
  search text not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint assets_access_group foreign key (tenant_id, access_group_id) references access_groups (tenant_id, id)
);
create index assets_by_access_group on assets (tenant_id, access_group_id, id);
create index assets_by_type on assets (tenant_id, type, id);
create index assets_by_name on assets (tenant_id, name, id);
create index assets_by_serial_number on assets (tenant_id, serial_number, id);
create index assets_by_product on assets (tenant_id, product_id, id);
create index assets_by_manufacturer on assets (tenant_id, manufacturer, id);
create index assets_by_management_state on assets (tenant_id, management_state, id);
create index assets_by_modification on assets (tenant_id, modified_at, id);
grant select, insert, update, delete on assets to :app_role;

-- What an asset is recognised by. A normalised identifier belongs to one asset of the tenant. What belongs to an asset
-- belongs to its tenant: another key to the tenant would only be checked once more for every row.
create table asset_identifiers (
  tenant_id uuid not null,
  key text collate "C" not null,
  asset_id uuid not null,
  uncertainty integer not null,
  type text collate "C" not null,
  name text collate "C",
  value text collate "C" not null,
  identifier jsonb not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, key),
  constraint asset_identifiers_asset foreign key (tenant_id, asset_id) references assets (tenant_id, id) on delete cascade
);
create index asset_identifiers_by_asset on asset_identifiers (tenant_id, asset_id);
create index asset_identifiers_by_value on asset_identifiers (tenant_id, value, asset_id);
grant select, insert, update, delete on asset_identifiers to :app_role;

-- Addresses of an asset, for look-ups by address.
create table asset_addresses (
  tenant_id uuid not null,
  asset_id uuid not null,
  kind text collate "C" not null,
  address text collate "C" not null,
  primary key (tenant_id, asset_id, kind, address),
  constraint asset_addresses_asset foreign key (tenant_id, asset_id) references assets (tenant_id, id) on delete cascade
);
create index asset_addresses_by_address on asset_addresses (tenant_id, address, asset_id);
grant select, insert, delete on asset_addresses to :app_role;

create table custom_properties (
  tenant_id uuid not null references tenants (id),
  key uuid not null,
  name text collate "C" not null,
  data_type text collate "C" not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, key)
);
create index custom_properties_by_name on custom_properties (tenant_id, name, key);
grant select, insert, update on custom_properties to :app_role;

create table asset_property_values (
  tenant_id uuid not null,
  asset_id uuid not null,
  key uuid not null,
  value text collate "C" not null,
  primary key (tenant_id, asset_id, key),
  constraint asset_property_values_asset foreign key (tenant_id, asset_id) references assets (tenant_id, id) on delete cascade,
  constraint asset_property_values_property foreign key (tenant_id, key) references custom_properties (tenant_id, key)
);
create index asset_property_values_by_value on asset_property_values (tenant_id, key, value, asset_id);
grant select, insert, update, delete on asset_property_values to :app_role;

-- Schemas of the tenant itself; the base schema comes with the program.
create table asset_schemas (
  tenant_id uuid not null references tenants (id),
  url text collate "C" not null,
  title text not null,
  schema jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, url)
);
grant select, insert on asset_schemas to :app_role;

-- Every change of an asset with the document after it: what it was at a time is the last row before that time.
create table asset_history (
  tenant_id uuid not null references tenants (id),
  asset_id uuid not null,
  version bigint not null,
  time timestamptz(3) not null,
  change text collate "C" not null check (change in ('created', 'updated', 'deleted')),
  access_group_id uuid not null,
  principal_id uuid,
  principal_name text not null,
  source_type text collate "C" not null,
  source_value text,
  document json,
  primary key (tenant_id, asset_id, version)
);
create index asset_history_by_time on asset_history (tenant_id, asset_id, time);
grant select, insert on asset_history to :app_role;

-- How many assets each access group has: totals without counting.
create table asset_counts (
  tenant_id uuid not null references tenants (id),
  access_group_id uuid not null,
  assets bigint not null,
  primary key (tenant_id, access_group_id),
  constraint asset_counts_access_group foreign key (tenant_id, access_group_id)
    references access_groups (tenant_id, id) on delete cascade
);
grant select, insert, update, delete on asset_counts to :app_role;

-- Accepted writes. Durable before the 202; applied in the order of acceptance by one applier per tenant.
create table operations (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  accepted_at timestamptz not null,
  kind text collate "C" not null,
  payload json not null,
  -- How many assets it is about: how much fits in one transaction goes by it.
  items integer not null,
  principal_id uuid not null,
  principal_kind text collate "C" not null,
  principal_name text not null,
  roles text[] not null,
  request_id text,
  state text collate "C" not null default 'queued' check (state in ('queued', 'finished', 'failed')),
  result json,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index operations_queued on operations (tenant_id, accepted_at, id) where state = 'queued';
create index operations_by_age on operations (tenant_id, modified_at) where state <> 'queued';
grant select, insert, update, delete on operations to :app_role;

-- Relations as they are now. Stating one again is recognised by the unique key.
create table relations (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  subject_type text collate "C" not null check (subject_type in ('asset', 'node')),
  subject_id uuid not null,
  predicate text collate "C" not null,
  object_type text collate "C" not null check (object_type in ('asset', 'node')),
  object_id uuid not null,
  source_type text collate "C" not null check (source_type in ('discovery', 'assetlinkdiscovery', 'manual')),
  source_value text collate "C",
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint relations_once unique (tenant_id, subject_id, predicate, object_id, source_type, subject_type, object_type)
);
create index relations_by_object on relations (tenant_id, object_id, predicate, subject_id);
create index relations_by_predicate on relations (tenant_id, predicate, id)
  include (subject_type, subject_id, object_type, object_id);
grant select, insert, update, delete on relations to :app_role;

-- Relations that have ended, with their life: the graph at a time is an index look-up.
create table ended_relations (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  subject_type text collate "C" not null,
  subject_id uuid not null,
  predicate text collate "C" not null,
  object_type text collate "C" not null,
  object_id uuid not null,
  source_type text collate "C" not null,
  source_value text collate "C",
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  ended_at timestamptz(3) not null,
  principal_id uuid,
  principal_name text not null,
  primary key (tenant_id, id)
);
create index ended_relations_by_subject on ended_relations (tenant_id, subject_id, ended_at);
create index ended_relations_by_object on ended_relations (tenant_id, object_id, ended_at);
grant select, insert on ended_relations to :app_role;
