-- The number of stored steps of the projection. A step is stored only if no other step was stored since it read the assets.
alter table hierarchy_positions add column steps bigint not null default 0;
