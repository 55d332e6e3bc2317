-- The identity provider whose claims created the grant. Null for a grant that a person created.
alter table grants add column provider_id uuid;
alter table grants drop constraint grants_once;
alter table grants add constraint grants_once
  unique nulls not distinct (tenant_id, principal_id, role, access_group_id, provider_id);
