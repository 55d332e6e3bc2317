-- Read back whole and never searched: to take it apart on its way in costs as much as everything else about an event.
alter table events alter column data type json using data::json;
