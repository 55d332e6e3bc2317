-- Access tokens that ended before they expired. token_id is the id of one token (jti), of its family (all tokens of one
-- authorization code or client secret), or of the sign-in session (sid). Rows are deleted when the tokens have expired.
create table revoked_tokens (
  tenant_id uuid not null references tenants (id),
  principal_id uuid not null,
  token_id uuid not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, principal_id, token_id),
  constraint revoked_tokens_principal foreign key (tenant_id, principal_id)
    references principals (tenant_id, id) on delete cascade
);
create index revoked_tokens_by_expiry on revoked_tokens (tenant_id, expires_at);
grant select, insert, update, delete on revoked_tokens to :app_role;

-- Hashes of signed statements that count once (client assertions, proofs of possession), until they expire.
create table used_proofs (
  tenant_id uuid not null references tenants (id),
  hash bytea not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, hash)
);
create index used_proofs_by_expiry on used_proofs (tenant_id, expires_at);
grant select, insert, delete on used_proofs to :app_role;
