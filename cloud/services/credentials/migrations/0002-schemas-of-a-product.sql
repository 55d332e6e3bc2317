-- An asset link can have several kinds of credentials: one schema for each URI of each version of each product.
alter table credential_schemas drop constraint credential_schemas_product;
alter table credential_schemas add constraint credential_schemas_product
  unique (tenant_id, resource_identifier, resource_version, uri);
