-- Which identifiers said that what was written is this asset; null where nothing was recognised.
alter table asset_history add column matched_by json;
