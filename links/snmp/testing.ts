import { readCredential } from '@millwright/link-sdk/credential.ts'
import type { DiscoverCall, DiscoveryResult, Target } from '@millwright/link-sdk/define-link.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { silentLog } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { type AgentOptions, type RunningAgent, startSnmpAgent } from './simulator.ts'

/** This file contains helpers of the tests of this link. */

const defaults = defaultOptionsOf(manifest)

/** The time to wait for agents that answer, on a busy machine too. */
const patientMs = 10_000
/** The options of scans of agents that do not answer to some requests. */
export const impatient = { timeout_ms: 300 }

export type ScanOptions = Partial<Pick<DiscoverCall, 'options' | 'targets' | 'signal' | 'progress' | 'permits'>>

export function scan(range: string, port: number, scanOptions: ScanOptions = {}): AsyncGenerator<DiscoveryResult> {
  const { options, targets = [], progress = () => undefined, permits = unlimitedPermits() } = scanOptions
  return discover({
    filters: [{ key: 'ip_range', operator: 'EQUAL', value: range }],
    options: { ...defaults, port: String(port), timeout_ms: patientMs, ...options },
    targets,
    progress,
    signal: scanOptions.signal ?? new AbortController().signal,
    permits,
    log: silentLog,
  })
}

export function credential(fields: Record<string, string>) {
  return readCredential({ schemaUri: '', text: JSON.stringify(fields) })
}

export function target(more: Partial<Target>): Target {
  return { address: {}, identifiers: [], credentials: [], ...more }
}

/** Starts agents on consecutive addresses from 127.0.<network>.1, at one free port. */
export async function startAgents(
  network: number,
  agents: readonly AgentOptions[],
): Promise<AsyncDisposable & { port: number; agents: RunningAgent[]; range: string }> {
  const stack = new AsyncDisposableStack()
  const running: RunningAgent[] = []
  for (const [index, agent] of agents.entries()) {
    const port = running[0]?.port ?? 0
    running.push(stack.use(await startSnmpAgent({ ...agent, host: `127.0.${network}.${index + 1}`, port })))
  }
  return {
    port: running[0]?.port ?? 0,
    agents: running,
    range: `127.0.${network}.1-127.0.${network}.${agents.length}`,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
