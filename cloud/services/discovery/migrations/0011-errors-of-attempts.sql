-- A repeated attempt of a run replaces the device errors of the interrupted attempt.
grant delete on discovery_errors to :app_role;
