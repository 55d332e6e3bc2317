-- The last alarm or driver event of a link that was published: events of the same stream up to this number are not published again.
alter table asset_links add column event_stream uuid, add column event_sequence bigint not null default 0;
