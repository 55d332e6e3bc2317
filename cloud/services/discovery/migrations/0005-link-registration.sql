-- When the latest registration of a link expires. A link whose gateway no longer reports stops running at this time.
alter table asset_links add column registration_expires_at timestamptz(3);
update asset_links set registration_expires_at = last_seen_at + interval '900 seconds';
alter table asset_links alter column registration_expires_at set not null;
-- Relations of a link are stated again at its next registration, independent of the time of the last statement.
alter table asset_links drop column stated_at;
