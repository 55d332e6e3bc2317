/**
 * Keeps a server running when its terminal is closed or a service manager sends SIGHUP. A closed terminal refuses output, which
 * must not end the process either.
 */
export function ignoreHangUp(): void {
  process.on('SIGHUP', () => process.stderr.write('SIGHUP is ignored. To stop, send SIGTERM.\n'))
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
}
