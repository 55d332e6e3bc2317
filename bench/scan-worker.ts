import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startGateway } from '@millwright/gateway/gateway.ts'
import { linkNodeOptions } from '@millwright/gateway/link-runner/link-process.ts'
import { settingsFor, TestCloud, temporaryFolder, until } from '@millwright/gateway/testing.ts'
import { memoryOf } from './shop-floor.ts'
import { handleCommands, stop } from './worker-process.ts'

/*
 * A process in the namespace of the gateway. It runs a gateway at a test cloud and starts links as separate processes.
 */

export type ScanCommand =
  | { kind: 'start link'; link: string }
  | { kind: 'scan'; link: string; range: string; options: Record<string, string> }
  | { kind: 'stop link' }

export type ScanResult = {
  seconds: number
  found: number
  errors: number
  /** The number of packets by function, as in the receipt of the gateway. */
  totals: Record<string, number>
  /** The memory of the link in mebibytes, in equal intervals. */
  memory: number[]
}

const sampleMs = 500

const home = temporaryFolder()
const cloud = await TestCloud.start()
cloud.configure(home)
writeFileSync(join(home, 'budget.json'), '{}')
const gateway = await startGateway(settingsFor(home))
let running: ChildProcess | undefined

handleCommands<ScanCommand>(async (command) => {
  if (command.kind === 'stop link') return running === undefined ? undefined : stop(running)
  return command.kind === 'start link' ? startLink(command.link) : scan(command)
})
process.send?.({ ready: undefined })

async function startLink(link: string): Promise<void> {
  const file = fileURLToPath(import.meta.resolve(`@millwright/links/${link}/main.ts`))
  const args = ['--registry', `127.0.0.1:${gateway.registryPort}`, '--log-level', 'error']
  running = spawn(process.execPath, [...linkNodeOptions, file, ...args], { stdio: ['ignore', 'inherit', 'inherit'] })
  await until(() =>
    cloud
      .callsOf('reportLinks')
      .some(({ body }) =>
        body.data.links.some(
          (one: { appInstanceId: string; state: string }) =>
            one.appInstanceId === `millwright.links.${link}` && one.state === 'running',
        ),
      ),
  )
}

async function scan({ link, range, options }: Extract<ScanCommand, { kind: 'scan' }>): Promise<ScanResult> {
  const pid = running?.pid ?? 0
  const memory: number[] = []
  const startedAt = performance.now()
  const jobId = cloud.offer('discovery', {
    runId: crypto.randomUUID(),
    discoveryId: crypto.randomUUID(),
    assetLinkId: `millwright.links.${link}`,
    filters: [{ key: 'ip_range', value: range }],
    options: Object.entries(options).map(([key, value]) => ({ key, value })),
  })
  for (;;) {
    const end = cloud.endOf(jobId)
    if (end !== undefined) {
      if (end.state !== 'FINISHED') throw new Error(`The scan ended as ${end.state}: ${end.message}`)
      break
    }
    memory.push(memoryOf(pid).now)
    await setTimeout(sampleMs)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const receipt = cloud.callsOf('uploadReceipt').find(({ params }) => params.id === jobId)?.body.data.receipt
  const result = { seconds, found: cloud.found(jobId).length, errors: cloud.errors(jobId).length, memory }
  cloud.calls.length = 0
  return { ...result, totals: receipt?.totals ?? {} }
}
