import { Pool } from 'undici'
import { cpuMicros } from './measurement.ts'
import { handleCommands } from './worker-process.ts'

/** This file runs in a process that sends requests with the HTTP client of the platform, but without the platform. */

export type SenderCommand = { kind: 'send'; url: string; bodies: string[]; count: number; connections: number }

const warmUpRequests = 5_000
let isWarm = false

export type SentResult = { seconds: number; cpuMicros: number }

handleCommands(async ({ url, bodies, count, connections }: SenderCommand): Promise<SentResult> => {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { connections })
  const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8' }
  const send = async (requests: number) => {
    let sent = 0
    const sendNext = async () => {
      while (sent < requests) {
        const body = bodies[sent++ % bodies.length] ?? ''
        const response = await pool.request({ path, method: 'POST', headers, body })
        await response.body.dump()
        if (response.statusCode !== 204) throw new Error(`The receiver answered ${response.statusCode}`)
      }
    }
    await Promise.all(Array.from({ length: connections }, sendNext))
  }
  if (!isWarm) await send(warmUpRequests)
  isWarm = true
  const cpuBefore = cpuMicros()
  const startedAt = performance.now()
  await send(count)
  const result = { seconds: (performance.now() - startedAt) / 1000, cpuMicros: cpuMicros() - cpuBefore }
  await pool.close()
  return result
})
process.send?.({ ready: undefined })
