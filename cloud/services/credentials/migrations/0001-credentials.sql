-- What the credentials of an asset link look like: one schema for each version of each product.
create table credential_schemas (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  resource_identifier text collate "C" not null,
  resource_version text collate "C" not null,
  uri text not null,
  title text,
  schema json not null,
  version bigint not null default 1,
  created_by text not null,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  constraint credential_schemas_product unique (tenant_id, resource_identifier, resource_version)
);
grant select, insert, update, delete on credential_schemas to :app_role;

-- `shown` are the values as people see them, with a placeholder for each secret; `sealed` are the values themselves. A
-- copy belongs to an asset and remembers what it was made from, which may be gone.
create table credential_instances (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  schema_id uuid not null,
  name text collate "C" not null,
  shown json not null,
  sealed bytea not null,
  ip_ranges json not null,
  purpose text collate "C" check (purpose in ('discovery', 'monitoring')),
  asset_id uuid,
  copied_from uuid,
  version bigint not null default 1,
  created_by text not null,
  created_at timestamptz(3) not null default now(),
  modified_by text not null,
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  constraint credential_instances_copy unique (tenant_id, asset_id, copied_from),
  constraint credential_instances_schema foreign key (tenant_id, schema_id) references credential_schemas (tenant_id, id)
);
create index credential_instances_by_time on credential_instances (tenant_id, modified_at, id);
create index credential_instances_by_schema on credential_instances (tenant_id, schema_id, modified_at, id);
create index credential_instances_by_name on credential_instances (tenant_id, name, modified_at, id);
create index credential_instances_by_original on credential_instances (tenant_id, copied_from, id) where copied_from is not null;
grant select, insert, update, delete on credential_instances to :app_role;

-- Where instances apply: every range as the blocks of addresses that it comes down to, so that those of an address are
-- found by equality. Product, time and use are those of the instance: the most recent of a block come from the index.
create table credential_places (
  tenant_id uuid not null references tenants (id),
  block text collate "C" not null,
  instance_id uuid not null,
  schema_id uuid not null,
  resource_identifier text collate "C" not null,
  for_discovery boolean not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, block, instance_id),
  constraint credential_places_instance foreign key (tenant_id, instance_id)
    references credential_instances (tenant_id, id) on delete cascade
);
create index credential_places_by_instance on credential_places (tenant_id, instance_id);
create index credential_places_by_schema on credential_places (tenant_id, schema_id, block, modified_at, instance_id)
  where for_discovery;
create index credential_places_by_product
  on credential_places (tenant_id, resource_identifier, block, modified_at, instance_id) where for_discovery;
grant select, insert, delete on credential_places to :app_role;

-- Which fields of an instance changed, never what they held.
create table credential_history (
  tenant_id uuid not null references tenants (id),
  instance_id uuid not null,
  version bigint not null,
  change text collate "C" not null check (change in ('created', 'copied', 'updated', 'mapped')),
  fields text[] not null,
  changed_by text not null,
  changed_at timestamptz(3) not null default now(),
  primary key (tenant_id, instance_id, version),
  constraint credential_history_instance foreign key (tenant_id, instance_id)
    references credential_instances (tenant_id, id) on delete cascade
);
grant select, insert on credential_history to :app_role;

create table credential_templates (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text collate "C" not null,
  description text,
  version bigint not null default 1,
  created_by text not null,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now(),
  primary key (tenant_id, id)
);
create index credential_templates_by_name on credential_templates (tenant_id, name, id);
grant select, insert, update, delete on credential_templates to :app_role;

create table credential_template_instances (
  tenant_id uuid not null references tenants (id),
  template_id uuid not null,
  instance_id uuid not null,
  mapped_at timestamptz(3) not null default now(),
  primary key (tenant_id, template_id, instance_id),
  constraint credential_template_instances_template foreign key (tenant_id, template_id)
    references credential_templates (tenant_id, id) on delete cascade,
  constraint credential_template_instances_instance foreign key (tenant_id, instance_id)
    references credential_instances (tenant_id, id) on delete cascade
);
create index credential_template_instances_by_instance on credential_template_instances (tenant_id, instance_id);
grant select, insert, delete on credential_template_instances to :app_role;

-- To which gateway an instance was given for which address, and whether it opened the device there.
create table credential_uses (
  tenant_id uuid not null references tenants (id),
  instance_id uuid not null,
  gateway_id uuid not null,
  address text collate "C" not null,
  asset_id uuid,
  deliveries integer not null default 1,
  job_id uuid not null,
  delivered_at timestamptz(3) not null default now(),
  worked_at timestamptz(3),
  failed_at timestamptz(3),
  primary key (tenant_id, instance_id, gateway_id, address),
  constraint credential_uses_instance foreign key (tenant_id, instance_id)
    references credential_instances (tenant_id, id) on delete cascade
);
create index credential_uses_by_address on credential_uses (tenant_id, gateway_id, address, instance_id)
  where worked_at is not null;
create index credential_uses_by_asset on credential_uses (tenant_id, asset_id, instance_id) where worked_at is not null;
create index credential_uses_by_time on credential_uses (tenant_id, instance_id, delivered_at);
grant select, insert, update on credential_uses to :app_role;
