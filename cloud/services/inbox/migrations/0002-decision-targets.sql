-- The access groups and nodes that a decision gives to its assets, with the number of assets. The rows of the assets are deleted
-- earlier than the decision.
alter table inbox_decisions add column targets json not null default '[]';
