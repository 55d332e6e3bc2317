-- Words are written by the applier only, which takes them away with their asset: a key would be checked row by row.
alter table asset_words drop constraint asset_words_asset;
