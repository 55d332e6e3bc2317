-- A request that waits is claimed before its work and gets its answer afterwards, each in a short transaction. While
-- claim_id is set the request is in progress; after claimed_until its process counts as dead and the key is free again.
alter table idempotent_requests add column claim_id uuid;
alter table idempotent_requests add column claimed_until timestamptz(3);
grant update on idempotent_requests to :app_role;
