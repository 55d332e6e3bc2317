export type Settings = Record<string, string | number | boolean>

/**
 * The default settings, for two cores and 4 GB of memory that other programs also use. They are passed on the command
 * line, so that a data folder of an older version uses the current settings. Log lines never contain values of a row or
 * a statement.
 */
const defaults: Settings = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  cluster_name: 'millwright',
  max_connections: 60,
  timezone: 'UTC',

  fsync: true,
  full_page_writes: true,
  synchronous_commit: true,

  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '8MB',
  maintenance_work_mem: '128MB',
  max_wal_size: '1GB',
  max_parallel_workers: 2,
  max_parallel_workers_per_gather: 1,
  random_page_cost: 1.1,
  jit: false,

  log_destination: 'stderr',
  logging_collector: false,
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  log_min_messages: 'warning',
  log_checkpoints: false,
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_parameter_max_length: 0,
  log_parameter_max_length_on_error: 0,
}

/**
 * Returns the command line arguments of the server. PostgreSQL parses the socket folder as a list, so the path is
 * quoted in case it contains a comma.
 */
export function serverArguments(server: { dataFolder: string; socketFolder: string; settings: Settings }): string[] {
  const settings = { ...defaults, unix_socket_directories: `"${server.socketFolder}"`, ...server.settings }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${printed(value)}`])
  return ['-D', server.dataFolder, ...options]
}

/** Returns true if a setting is off. Texts such as `fsync: 'off'` are accepted too, as in PostgreSQL. */
export function isOff(value: Settings[string] | undefined): boolean {
  return ['off', 'false', 'no', '0'].includes(`${value}`)
}

function printed(value: Settings[string]): string {
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : `${value}`
}
