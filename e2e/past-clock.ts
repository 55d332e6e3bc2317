import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './platform.ts'

/**
 * This file sets back the clock of a program and of all programs that it starts, for example the database server. The
 * clock of the machine does not change. The machine needs a C compiler, and only root can do it.
 */

/** These functions replace the functions of the C library. Programs use them only to read the time. */
const clock = `
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
  long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec -= SECONDS_AGO;
  return (int)result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (result != NULL) *result = now.tv_sec;
  return now.tv_sec;
}
`

/**
 * Returns a program that runs Node with a clock that is set back. The program has its own mounts, in which the file
 * `/etc/ld.so.preload` loads the clock into every program. The server of the database is started without the
 * environment of Node, so an environment variable would not reach it.
 */
export function pastClock(hoursAgo: number): { program: string } & Disposable {
  const folder = temporaryFolder('clock')
  const etc = join(folder.path, 'etc')
  const source = join(folder.path, 'clock.c')
  const library = join(folder.path, 'clock.so')
  const program = join(folder.path, 'node')
  mkdirSync(etc)
  writeFileSync(source, clock)
  writeFileSync(join(etc, 'ld.so.preload'), `${library}\n`)
  const mount = `mount -t overlay overlay -o lowerdir=${etc}:/etc /etc`
  writeFileSync(
    program,
    `#!/bin/sh\nexec unshare --mount /bin/sh -c '${mount} && exec "$@"' sh '${process.execPath}' "$@"\n`,
  )
  chmodSync(program, 0o755)
  run('cc', ['-shared', '-fPIC', '-O2', `-DSECONDS_AGO=${hoursAgo * 3_600}`, '-o', library, source])
  const past = Number(run(program, ['--print', 'Date.now()']))
  if (Date.now() - past < (hoursAgo - 1) * 3_600_000) {
    throw new Error('The clock of a program cannot be set back on this machine. Run this program as root.')
  }
  return { program, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`)
  return stdout
}
