-- What each link reported last about an asset, and which values people edited: see field-sources.ts. Null if no link has
-- reported the asset.
alter table assets add column field_sources json;
-- The reported values that were not used in a change, because another source wins.
alter table asset_history add column overruled json;
-- The reports about both assets of a merge, to undo it.
alter table asset_merges add column sources json;
