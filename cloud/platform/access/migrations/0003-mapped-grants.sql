-- The identity provider whose claims created the grant. Null for a grant that a person created.
alter table grants add column provider_id uuid;
alter table grants drop constraint grants_once;
alter table grants add constraint grants_once
  unique nulls not distinct (tenant_id, principal_id, role, access_group_id, provider_id);
create index grants_by_provider on grants (tenant_id, provider_id) where provider_id is not null;

-- Earlier versions created grants from the tokens of external issuers. They were effective only together with such a
-- token, so they must not become manual grants. The next sign-in creates the current ones.
delete from grants g using principals p
where p.tenant_id = g.tenant_id and p.id = g.principal_id and p.kind = 'external';
