import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * `started` distinguishes a process from a later one with the same id. It is undefined where the system does not report
 * it.
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
 * The name is in parentheses and may contain spaces and parentheses, so fields are counted from the last parenthesis.
 */
export function parseStat(stat: string): { state: string; startTicks: string } {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', startTicks: fields[19] ?? '' }
}

/**
 * A dead process that its parent did not wait for (a zombie) keeps its id, as in a container without an init process.
 */
function isRunning(state: string): boolean {
  return state !== 'Z' && state !== 'X'
}

/** Ticks count from the boot, so the same id and ticks can occur again after the next boot. */
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

/** Returns true for the postmaster of a data folder, started by Millwright or by pg_ctl. */
export function isServerOf(command: string, dataFolder: string): boolean {
  return `${command} `.includes(`postgres -D ${dataFolder} `)
}

export function commandOf(pid: number): string {
  const commandLine = readText(`/proc/${pid}/cmdline`)
  if (commandLine !== undefined) return commandLine.replaceAll('\0', ' ').trim()
  return processStatus(pid, 'command') ?? ''
}

/** The processes of a data folder whose postmaster was killed. Only Linux reports them. */
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
