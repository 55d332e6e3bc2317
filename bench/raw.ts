import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, openConnection, send } from '@millwright/cloud/platform/database/connection.ts'

/** A statement; those of one transaction have been sent by the same. */
export type Sent = { text: string; values: readonly unknown[]; by?: string }

type Client = Awaited<ReturnType<typeof openConnection>>['client']

type Options = { address: Address; tenantId: string; connections: number }

/** Statements as the platform sends them, prepared, on as many connections, with nothing around them. */
export async function openRaw({ address, tenantId, connections }: Options) {
  const idle = await Promise.all(
    Array.from({ length: connections }, async () => {
      const { client } = await openConnection(address, { settings: true })
      await client.query(`set app.tenant = '${tenantId}'`)
      return client
    }),
  )
  const all = [...idle]
  const names = new Map<string, string>()
  const waiting: ((client: Client) => void)[] = []
  return {
    /** One after the other on one connection, as one request does it. */
    async send(statements: readonly Sent[]): Promise<unknown[][]> {
      const client = idle.pop() ?? (await new Promise<Client>((resolve) => waiting.push(resolve)))
      const results: unknown[][] = []
      for (const { text, values } of statements) {
        const name = names.get(text) ?? `raw${names.size}`
        names.set(text, name)
        results.push((await send(client, { name, text, values: [...values] })).rows)
      }
      const next = waiting.shift()
      if (next === undefined) idle.push(client)
      else next(client)
      return results
    },
    close: () => Promise.all(all.map((client) => client.end())),
  }
}

const ticksPerSecond = 100

/** CPU time of the database server of a home and all its processes so far, in microseconds; known on Linux only. */
export function databaseCpuMicros(home: string): number {
  if (process.platform !== 'linux') return Number.NaN
  const [postmaster = ''] = readText(join(home, 'postgres', 'data', 'postmaster.pid')).split('\n')
  const ended = fieldsOf(postmaster)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && fieldsOf(name)[1] === postmaster)
    .reduce((sum, pid) => sum + workedMicros(pid), microsOf(Number(ended[13]) + Number(ended[14])))
}

/** CPU time of one process so far, all its threads, in microseconds; known on Linux only. */
export function cpuMicrosOf(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  const fields = fieldsOf(String(pid))
  return microsOf(Number(fields[11]) + Number(fields[12]))
}

/** CPU time of the first thread of a process so far, more exactly, in microseconds; known on Linux only. */
export function workedMicros(pid: string | number): number {
  return Number(readText(`/proc/${pid}/schedstat`).split(' ')[0]) / 1000
}

/** In the line of a process, counted after its name: its parent, its own user and system time, that of its ended ones. */
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
