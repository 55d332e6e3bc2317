import { type ChildProcess, fork } from 'node:child_process'

/**
 * Starts a process that reads untrusted input, with a limit for its memory. It gets no environment variables, because they
 * may contain secrets. The only exception is the folder of the compile cache, so that the process starts faster.
 */
export function forkUntrusted(file: URL, mebibytes: number): ChildProcess {
  const { NODE_COMPILE_CACHE: cache } = process.env
  return fork(file, {
    execArgv: [`--max-old-space-size=${mebibytes}`],
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
}
