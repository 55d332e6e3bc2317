-- Pairs of assets that one write took for one: some of its identifiers belong to one of them, some to the other.
create table asset_conflicts (
  tenant_id uuid not null references tenants (id),
  asset_id uuid not null,
  other_id uuid not null,
  evidence json not null,
  first_seen timestamptz(3) not null,
  last_seen timestamptz(3) not null,
  dismissed_at timestamptz(3),
  primary key (tenant_id, asset_id, other_id),
  constraint asset_conflicts_ordered check (asset_id < other_id),
  constraint asset_conflicts_asset foreign key (tenant_id, asset_id) references assets (tenant_id, id) on delete cascade,
  constraint asset_conflicts_other foreign key (tenant_id, other_id) references assets (tenant_id, id) on delete cascade
);
create index asset_conflicts_by_other on asset_conflicts (tenant_id, other_id);
create index asset_conflicts_open on asset_conflicts (tenant_id, last_seen desc, asset_id, other_id) where dismissed_at is null;
grant select, insert, update, delete on asset_conflicts to :app_role;

-- What became part of what. The relations that ended with the other asset are in ended_relations, at the same time.
create table asset_merges (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  asset_id uuid not null,
  other_id uuid not null,
  merged_at timestamptz(3) not null,
  principal_id uuid,
  principal_name text not null,
  other_name text,
  other_access_group_id uuid not null,
  other_version bigint not null,
  other_created_at timestamptz(3) not null,
  other_document json not null,
  -- Keys of the identifiers that came over.
  keys json not null,
  -- Ids of its relations that the asset had too, and that did not have to come over.
  united json not null,
  -- The document of the asset, to tell what it got by the merge from what it got later.
  document_before json not null,
  document_after json not null,
  undone_at timestamptz(3),
  primary key (tenant_id, id)
);
create index asset_merges_by_asset on asset_merges (tenant_id, asset_id, merged_at desc, id);
grant select, insert, update on asset_merges to :app_role;
