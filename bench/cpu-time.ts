import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ticksPerSecond = 100

/** The processor time of the database server of a home so far, all its processes, in microseconds. Linux only. */
export function databaseCpuMicros(home: string): number {
  if (process.platform !== 'linux') return Number.NaN
  const [postmaster = ''] = readText(join(home, 'postgres', 'data', 'postmaster.pid')).split('\n')
  const ended = fieldsOf(postmaster)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && fieldsOf(name)[1] === postmaster)
    .reduce((sum, pid) => sum + workedMicros(pid), microsOf(Number(ended[13]) + Number(ended[14])))
}

/** The processor time of one process so far, all its threads, in microseconds. Linux only. */
export function cpuMicrosOf(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  const fields = fieldsOf(String(pid))
  return microsOf(Number(fields[11]) + Number(fields[12]))
}

/** The processor time of the first thread of a process so far, with higher resolution, in microseconds. Linux only. */
export function workedMicros(pid: string | number): number {
  return Number(readText(`/proc/${pid}/schedstat`).split(' ')[0]) / 1000
}

/** Fields of `/proc/<pid>/stat` after the name: parent, own user and system time, and that of ended children. */
function fieldsOf(pid: string): string[] {
  const stat = readText(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function microsOf(ticks: number): number {
  return (ticks * 1_000_000) / ticksPerSecond
}

/** A process can end while its data is read. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
