/** Returns whether a process exists. A process of another user exists, although it accepts no signals. */
export function isProcessAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
