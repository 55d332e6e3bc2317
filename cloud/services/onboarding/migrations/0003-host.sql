-- The computer of a gateway, as the gateway reports it: host name, operating system and addresses.
alter table gateways add column host json;
