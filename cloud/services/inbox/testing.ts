import type { Decision, OnboardingRuleInput, RuleRun } from '@millwright/api/inbox.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import { enrolledGateway, foundDevice, linkReport, runScan, type TestGateway } from '../../platform/testing/gateway.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'

const deadlineMs = 30_000

/** A gateway whose scans find new devices. */
export type ScannedPlant = { hub: TestHub; admin: TestCaller; gateway: TestGateway }

export async function scannedPlant(hub: TestHub, admin: TestCaller, name = 'line 1'): Promise<ScannedPlant> {
  const gateway = await enrolledGateway(hub, admin, { name })
  await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
  return { hub, admin, gateway }
}

/** Returns the report of a device with an address, as a gateway sends it. */
export function newDevice(index: number, address: string, changes: Record<string, unknown> = {}) {
  return foundDevice(index, {
    connection_points: [
      { connection_point_type: 'Ipv4Connectivity', id: 'x1', ipv4_address: address, network_mask: '255.255.255.0' },
    ],
    ...changes,
  })
}

/** Runs a new scan that finds these devices. Returns the ids of its run and of the found assets, in the order of their ids. */
export async function scan({ hub, admin, gateway }: ScannedPlant, assets: Record<string, unknown>[]) {
  const { jobId } = await admin.discovery.createDiscovery({
    params: { gatewayId: gateway.id },
    body: {
      data: {
        assetLinkId: 'cdm-device-class-driver-example',
        discoveryOptions: [{ key: 'size', value: String(assets.length) }],
      },
    },
  })
  await runScan({ hub, admin, gateway, jobId, assets })
  const { data } = await admin.discovery.getReport({ params: { jobId }, query: {} })
  const ids = new Map(data.findings.map(({ assetId, name = '' }) => [name, assetId]))
  return { jobId, runId: data.run.id, ids }
}

/** Waits for the end of a decision. */
export async function endOfDecision(caller: TestCaller, id: string): Promise<Decision> {
  const { data } = await caller.inbox.readDecision({ params: { id }, query: { wait: 30 } })
  if (data.state === 'running') throw new Error('The decision has not ended')
  return data
}

type DecisionInput = Parameters<TestCaller['inbox']['createDecision']>[0]['body']['data']

/** Decides about assets and waits for the end. */
export async function decide(caller: TestCaller, data: DecisionInput): Promise<Decision> {
  return endOfDecision(caller, (await caller.inbox.createDecision({ body: { data } })).data.id)
}

export async function createRule(caller: TestCaller, data: OnboardingRuleInput): Promise<string> {
  return (await caller.inbox.createOnboardingRule({ body: { data } })).data.id
}

/** Waits until a rule has an entry of its log for a run. */
export async function ruleRun(caller: TestCaller, ruleId: string, runId: string): Promise<RuleRun> {
  const pause = growingPause()
  for (const deadline = Date.now() + deadlineMs; Date.now() < deadline; await pause()) {
    const { data } = await caller.inbox.listRuleRuns({ params: { id: ruleId }, query: {} })
    const found = data.find((run) => run.runId === runId)
    if (found !== undefined) return found
  }
  throw new Error('The rule has not handled the run')
}

/** Returns the management state and the access group of an asset. */
export async function placeOf(caller: TestCaller, id: string): Promise<{ state: string; group: string }> {
  const { data } = await caller.inventory.readAsset({ params: { id }, query: {} })
  const { management_state, access_group } = data as {
    management_state: { state_value: string }
    access_group: string
  }
  return { state: management_state.state_value, group: access_group }
}
