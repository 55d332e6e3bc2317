-- Why the inventory refused the last report of a device: a code and a detail. Null if the report was written, or there was none.
alter table monitoring_results add column report_error json;
