-- Decisions about new assets. A decision runs in the background with the rights of its principal. `assignments` contains the
-- assignments of the hierarchy service, which an undo also reverts.
create table inbox_decisions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  action text collate "C" not null check (action in ('onboard', 'ignore', 'return', 'undo')),
  state text collate "C" not null check (state in ('running', 'finished', 'failed')),
  total integer not null,
  changed integer not null default 0,
  failed integer not null default 0,
  not_assigned integer not null default 0,
  problem json,
  rule_id uuid,
  run_id uuid,
  undoes uuid,
  undone_by uuid,
  undo_until timestamptz(3) not null,
  assignments json not null,
  principal_id uuid not null,
  principal_kind text collate "C" not null,
  principal_name text not null,
  roles json not null,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index inbox_decisions_by_rule on inbox_decisions (tenant_id, rule_id, id) where rule_id is not null;
create index inbox_decisions_running on inbox_decisions (tenant_id, id) where state = 'running';
grant select, insert, update, delete on inbox_decisions to :app_role;

-- The assets of a decision: what each asset gets, and what it had before. The rows are deleted when the decision can no longer
-- be undone.
create table inbox_decision_items (
  tenant_id uuid not null,
  decision_id uuid not null,
  ordinal integer not null,
  asset_id uuid not null,
  outcome text collate "C" not null check (outcome in ('pending', 'changed', 'failed')),
  expected_states text[] not null,
  expected_group_id uuid,
  state text collate "C" not null,
  access_group_id uuid,
  node_id uuid,
  previous_state text collate "C",
  previous_group_id uuid,
  code text collate "C",
  detail text,
  primary key (tenant_id, decision_id, ordinal),
  constraint inbox_decision_items_decision foreign key (tenant_id, decision_id)
    references inbox_decisions (tenant_id, id) on delete cascade
);
grant select, insert, update, delete on inbox_decision_items to :app_role;

-- Onboarding rules in their order. A paused rule proposes and onboards nothing.
create table inbox_rules (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  position integer not null,
  name text not null,
  gateway_id uuid,
  ranges json not null,
  filter text,
  access_group_id uuid,
  node_id uuid,
  mode text collate "C" not null check (mode in ('propose', 'automatic')),
  cap integer not null,
  paused boolean not null,
  pause_reason text,
  principal_id uuid not null,
  principal_kind text collate "C" not null,
  principal_name text not null,
  roles json not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
grant select, insert, update, delete on inbox_rules to :app_role;

-- What an automatic rule did after a discovery run.
create table inbox_rule_runs (
  tenant_id uuid not null,
  rule_id uuid not null,
  run_id uuid not null,
  job_id uuid not null,
  matched integer not null,
  taken integer not null,
  decision_id uuid,
  problem text,
  created_at timestamptz(3) not null,
  primary key (tenant_id, rule_id, run_id),
  constraint inbox_rule_runs_rule foreign key (tenant_id, rule_id) references inbox_rules (tenant_id, id) on delete cascade
);
create index inbox_rule_runs_by_time on inbox_rule_runs (tenant_id, rule_id, created_at desc);
grant select, insert, delete on inbox_rule_runs to :app_role;
