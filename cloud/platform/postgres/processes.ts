import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * `Identity` identifies a process. `started` distinguishes it from a later process with the same id. `started` is
 * undefined if the system does not report it.
 */
export type Identity = { alive: boolean; started: string | undefined }

export function identify(pid: number): Identity {
  const stat = readText(`/proc/${pid}/stat`)
  if (stat !== undefined) {
    const { state, startTicks } = parseStat(stat)
    return { alive: isRunning(state), started: `${bootId()}/${startTicks}` }
  }
  if (!acceptsSignals(pid)) return { alive: false, started: undefined }
  return { alive: true, started: processStatus(pid, 'lstart') }
}

/**
 * Parses `/proc/<pid>/stat`. The name of the process is in parentheses and may contain spaces and parentheses, so
 * fields are counted after the last parenthesis.
 */
export function parseStat(stat: string): { state: string; startTicks: string } {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', startTicks: fields[19] ?? '' }
}

/**
 * Returns false for a dead process that still has its id. A dead process keeps its id until its parent waits for it (a
 * zombie), as in a container without an init process.
 */
function isRunning(state: string): boolean {
  return state !== 'Z' && state !== 'X'
}

/**
 * Returns the id of the current boot. Ticks count from the boot, so the same process id and ticks can occur again after
 * the next boot.
 */
function bootId(): string {
  return readText('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
}

function acceptsSignals(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Returns true if the command is the postmaster of a data folder, started by Millwright or by pg_ctl. */
export function isServerOf(command: string, dataFolder: string): boolean {
  return `${command} `.includes(`postgres -D ${dataFolder} `)
}

export function commandOf(pid: number): string {
  const commandLine = readText(`/proc/${pid}/cmdline`)
  if (commandLine !== undefined) return commandLine.replaceAll('\0', ' ').trim()
  return processStatus(pid, 'command') ?? ''
}

/** Returns the processes of a data folder whose postmaster was killed. It finds them only on Linux. */
export function backendsOf(dataFolder: string): number[] {
  return runningPids().filter(
    (pid) => linkTarget(`/proc/${pid}/cwd`) === dataFolder && commandOf(pid).startsWith('postgres: '),
  )
}

function runningPids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

function processStatus(pid: number, column: string): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', `${column}=`, '-p', `${pid}`], { encoding: 'utf8' })
  return stdout?.trim() || undefined
}

function linkTarget(file: string): string | undefined {
  try {
    return readlinkSync(file)
  } catch {
    return undefined
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
