-- The reachability state that was last written to the asset of the gateway: the asset changes only when the state does.
alter table gateways add column reachability text collate "C" check (reachability in ('reached', 'failed'));
