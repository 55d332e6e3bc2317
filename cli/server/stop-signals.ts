/**
 * Keeps a server running when its terminal is closed or when a service manager sends SIGHUP. Output to a closed
 * terminal fails, and this error must not end the process either.
 */
export function ignoreHangUp(): void {
  process.on('SIGHUP', () => process.stderr.write('SIGHUP is ignored. To stop, send SIGTERM.\n'))
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
}
