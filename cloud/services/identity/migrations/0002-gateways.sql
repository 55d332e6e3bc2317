-- The public key of each gateway: its private half never left the gateway, and proves every request.
create table gateway_keys (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  client_id text collate "C" not null,
  public_jwk json not null,
  thumbprint text collate "C" not null,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, principal_id),
  constraint gateway_keys_client_id unique (tenant_id, client_id),
  constraint gateway_keys_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
grant select, insert, update, delete on gateway_keys to :app_role;
