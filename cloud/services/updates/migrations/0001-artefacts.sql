-- Artefacts. The content is found by its SHA-256. `is_complete` says whether the tenant has the content. An artefact that was
-- read from a device has a source; `source_access_group_id` is the access group of the asset when it was last looked up.
create table artefacts (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null,
  manufacturer text not null,
  products json not null,
  hardware_versions json,
  requires json,
  release_notes text,
  version text not null,
  kind text collate "C" not null check (kind in ('firmware', 'software', 'configuration', 'backup', 'logfile')),
  sha256 text collate "C" not null,
  size bigint not null,
  is_complete boolean not null,
  signature text,
  signature_format text collate "C",
  signature_state text collate "C" not null
    check (signature_state in ('missing', 'unchecked', 'valid', 'untrusted', 'invalid')),
  signature_detail text,
  signer text,
  trust_anchor_id uuid,
  signature_expires_at timestamptz(3),
  source_asset_id uuid,
  source_access_group_id uuid,
  created_by_id uuid not null,
  created_by_name text not null,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index artefacts_by_content on artefacts (tenant_id, sha256);
create index artefacts_by_manufacturer on artefacts (tenant_id, lower(manufacturer), kind, id);
create index artefacts_by_anchor on artefacts (tenant_id, trust_anchor_id) where trust_anchor_id is not null;
create index artefacts_incomplete on artefacts (tenant_id, created_at) where not is_complete;
create index artefacts_read on artefacts (tenant_id, id) where source_asset_id is not null;
grant select, insert, update, delete on artefacts to :app_role;

-- The complete contents of a tenant. Equal contents are stored once. `store` is the place, `location` the name in it.
create table artefact_contents (
  tenant_id uuid not null references tenants (id),
  sha256 text collate "C" not null,
  size bigint not null,
  store text collate "C" not null check (store in ('home', 's3')),
  location text collate "C" not null,
  sha384 bytea not null,
  sha512 bytea not null,
  blake2b512 bytea not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, sha256)
);
grant select, insert, update, delete on artefact_contents to :app_role;

-- Uploads that are not complete. The id is the id of the artefact or of the retrieval, and `upload_id` names the bytes in the
-- store. `received_bytes` are stored durably. `parts` belongs to the store. One request holds the lease of an upload and is the only one that writes its bytes.
create table artefact_uploads (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  upload_id uuid not null,
  store text collate "C" not null check (store in ('home', 's3')),
  received_bytes bigint not null,
  parts json,
  lease_id uuid,
  lease_expires_at timestamptz(3),
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index artefact_uploads_by_time on artefact_uploads (tenant_id, modified_at);
grant select, insert, update, delete on artefact_uploads to :app_role;

-- Contents and uploads that no row uses and whose bytes must be deleted from their store.
create table artefact_deletions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  store text collate "C" not null,
  location text collate "C",
  upload_id uuid,
  parts json,
  created_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
grant select, insert, delete on artefact_deletions to :app_role;

-- The certificates and public keys that can sign artefacts. `key_hash` is the SHA-256 of the key.
create table update_trust_anchors (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null,
  format text collate "C" not null check (format in ('certificate', 'minisign-key')),
  public_key text not null,
  key_hash bytea not null,
  fingerprint text collate "C" not null,
  subject text,
  not_after timestamptz(3),
  created_by_id uuid not null,
  created_by_name text not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create unique index update_trust_anchors_by_key on update_trust_anchors (tenant_id, key_hash);
grant select, insert, delete on update_trust_anchors to :app_role;

-- The settings of the update hub. A tenant without a row has the defaults. `needs_signature_check` is true after a change of the
-- trust anchors, until the signatures of the artefacts are checked again.
create table update_settings (
  tenant_id uuid not null references tenants (id),
  allows_unsigned boolean not null default false,
  needs_signature_check boolean not null default false,
  modified_at timestamptz(3) not null,
  primary key (tenant_id)
);
grant select, insert, update, delete on update_settings to :app_role;

-- What was read from devices, and the jobs of the gateways that read it. The definition of the job is stored before the job is
-- created, so that a repeated creation has no effect.
create table update_retrievals (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  job_id uuid not null,
  asset_id uuid not null,
  asset_name text not null,
  manufacturer text not null,
  product text not null,
  access_group_id uuid not null,
  gateway_id uuid not null,
  definition json not null,
  is_job_created boolean not null default false,
  kind text collate "C" not null check (kind in ('backup', 'configuration', 'logfile')),
  state text collate "C" not null check (state in ('waiting', 'running', 'finished', 'failed')),
  progress integer not null default 0,
  reason text,
  artefact_id uuid,
  principal_id uuid not null,
  principal_name text not null,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create unique index update_retrievals_by_job on update_retrievals (tenant_id, job_id);
create index update_retrievals_by_asset on update_retrievals (tenant_id, asset_id, id);
create index update_retrievals_open on update_retrievals (tenant_id, id) where state in ('waiting', 'running');
grant select, insert, update, delete on update_retrievals to :app_role;
