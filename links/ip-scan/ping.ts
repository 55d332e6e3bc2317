import { spawn } from 'node:child_process'
import type { Probe } from './device.ts'

/** `Ping` sends one ICMP echo request. Returns true if the device answered in time. */
export type Ping = (probe: Probe) => Promise<boolean>

/** Explains how the link gets the right to send ICMP echo requests. */
export const pingAdvice =
  'The link sends no ICMP echo requests, because the program ping is missing or may not send them. ' +
  'Install ping, and run: sudo setcap cap_net_raw+ep "$(command -v ping)". ' +
  'Without ICMP, the link finds devices by ARP and TCP only.'

let available: Promise<Ping | undefined> | undefined

/**
 * Returns a function that sends echo requests with the program `ping` of the system, or undefined if the program is
 * missing or has no right to send. Node.js has no ICMP sockets. The result of the first call is stored, unless ping is
 * not available, so that a right that was added later is used.
 */
export function openPing(program = 'ping'): Promise<Ping | undefined> {
  if (program !== 'ping') return test(program)
  available ??= test(program).then((ping) => {
    if (ping === undefined) available = undefined
    return ping
  })
  return available
}

/** Tests the program with an echo request to this machine. */
async function test(program: string): Promise<Ping | undefined> {
  const ping: Ping = (probe) => run(program, probe)
  const own = { address: '127.0.0.1', localAddress: undefined, timeoutMs: 900, signal: AbortSignal.timeout(10_000) }
  return (await ping(own).catch(() => false)) ? ping : undefined
}

/**
 * The time that ping needs to start and to end, in addition to the time-out of the echo request. A busy machine starts it
 * late. Without an answer, ping ends one second after the request.
 */
const startMs = 2_000

/**
 * Runs ping with one echo request without data (`-c 1 -s 0`), without queries to DNS (`-n`). The exit code is 0 if an
 * answer came.
 */
function run(program: string, { address, localAddress, timeoutMs, signal }: Probe): Promise<boolean> {
  signal.throwIfAborted()
  const source = localAddress === undefined ? [] : ['-I', localAddress]
  const options = ['-n', '-q', '-c', '1', '-s', '0', '-W', '1', ...source, address]
  return new Promise((resolve, reject) => {
    const child = spawn(program, options, {
      stdio: 'ignore',
      signal,
      timeout: timeoutMs + startMs,
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    })
    child.on('error', (error) => reject(signal.aborted ? signal.reason : error))
    child.on('close', (code) => (signal.aborted ? reject(signal.reason) : resolve(code === 0)))
  })
}
