import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ticksPerSecond = 100

/**
 * Returns the processor time that all processes of the database server in this home have used so far, in microseconds.
 * Linux only.
 */
export function databaseCpuMicros(home: string): number {
  if (process.platform !== 'linux') return Number.NaN
  const [postmaster = ''] = readText(join(home, 'postgres', 'data', 'postmaster.pid')).split('\n')
  const ended = fieldsOf(postmaster)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && fieldsOf(name)[1] === postmaster)
    .reduce((sum, pid) => sum + workedMicros(pid), microsOf(Number(ended[13]) + Number(ended[14])))
}

/** Returns the processor time that all threads of one process have used so far, in microseconds. Linux only. */
export function cpuMicrosOf(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  const fields = fieldsOf(String(pid))
  return microsOf(Number(fields[11]) + Number(fields[12]))
}

/**
 * Returns the processor time that the first thread of a process has used so far, in microseconds. The resolution is
 * higher than that of `cpuMicrosOf`. Linux only.
 */
export function workedMicros(pid: string | number): number {
  return Number(readText(`/proc/${pid}/schedstat`).split(' ')[0]) / 1000
}

/**
 * Returns the fields of `/proc/<pid>/stat` after the process name. They include the parent, the user and system time of
 * the process, and the times of its ended children.
 */
function fieldsOf(pid: string): string[] {
  const stat = readText(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function microsOf(ticks: number): number {
  return (ticks * 1_000_000) / ticksPerSecond
}

/**
 * Returns the text of a file, or an empty text if the file is missing. Files in `/proc` disappear when their process
 * ends.
 */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
