import { isIP } from 'node:net'
import { type CredentialTestOutcome, credentialTestOutcomes } from '@millwright/api/credential-test.ts'
import { credentials } from '@millwright/api/credentials.ts'
import type { discovery } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record, recordOutside } from '../../platform/audit/audit.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { assetsAt } from './device-address-store.ts'
import { requireEnrolled, requireLink } from './discoveries.ts'
import { canReadProperties } from './link.ts'
import { runDeviceJob } from './properties.ts'

type TestTarget = { gatewayId: string; assetLinkId: string; instanceId: string; address: string }
/** The result that the gateway reports for a test. It is absent if the gateway cannot test credentials. */
type TestResult = { outcome?: unknown; message?: unknown }

/**
 * Handler that tests credentials against one device. A device-info job names the credentials, so the gateway gets only
 * these, and reads the device with them through the same interface as in a scan.
 */
export function credentialTestHandlers(context: Context): Pick<Handlers<typeof discovery>, 'testCredential'> {
  return {
    async testCredential({ params: { gatewayId }, body: { data } }, caller) {
      requirePermission(caller, 'glb_discovery_run')
      if (isIP(data.address) === 0) throw invalidAddress(data.address)
      const gateway = await requireEnrolled(context, caller, gatewayId)
      const { assetLinkId, instanceId, address } = data
      const pointer = '/data/assetLinkId'
      const link = await requireLink(context, caller, { gateway, assetLinkId, pointer })
      if (!canReadProperties(link.report.interfaces))
        throw new Problem(
          'link_not_compatible',
          `Asset link ${assetLinkId} cannot read single devices, so credentials cannot be tested. Start a scan instead.`,
        )
      await context.peers(credentials, systemCaller(caller)).getInstance({ params: { instanceId } })
      const target = { gatewayId, assetLinkId, instanceId, address }
      const { jobId, ...test } = await runTest(context, caller, { target, linkAssetId: link.assetId }).catch(
        async (error: unknown) => {
          await recordFailure(context, caller, target)
          throw error
        },
      )
      await recordTest(context, caller, { target, jobId, outcome: test.outcome })
      return { data: { jobId, ...test } }
    },
  }
}

function invalidAddress(address: string): Problem {
  const errors = [{ pointer: '/data/address', code: 'invalid', detail: 'is not an IP address' }]
  return new Problem('invalid_body', `${address} is not an IP address`, { errors })
}

type TestRun = { target: TestTarget; linkAssetId: string }

async function runTest(context: Context, caller: Caller, { target, linkAssetId }: TestRun) {
  const { gatewayId, assetLinkId, instanceId, address } = target
  const { jobId, result } = await runDeviceJob(context, caller, {
    gatewayId,
    tags: ['credential-test'],
    definition: {
      assetLinkId,
      linkAssetId,
      assetIdentifiers: [],
      addresses: [address],
      foundAddresses: [address],
      credentialTest: true,
      instanceId,
    },
  })
  return { jobId, ...testOf(result.credentialTest) }
}

function testOf(value: unknown): { outcome: CredentialTestOutcome; message?: string } {
  const { outcome, message } = (value ?? {}) as TestResult
  const known = credentialTestOutcomes.find((each) => each === outcome)
  if (known === undefined)
    throw new Problem('gateway_not_ready', 'The gateway cannot test credentials. Update the gateway.')
  return { outcome: known, ...(typeof message === 'string' && { message: message.slice(0, 1_024) }) }
}

/** Writes the audit entry of a test without a result. The gateway may have sent the credentials to the device. */
async function recordFailure({ database }: Context, caller: Caller, target: TestTarget): Promise<void> {
  const { instanceId, ...detail } = target
  await recordOutside(database, caller, caller, {
    action: 'discovery.testCredential',
    target: `credential-instance/${instanceId}`,
    outcome: 'failed',
    detail,
  })
}

type TestRecord = { target: TestTarget; jobId: string; outcome: CredentialTestOutcome }

/**
 * Writes the audit entry of a test, and records whether the credentials worked. In the next scan, the gateway first gets the
 * credentials that worked.
 */
async function recordTest(context: Context, caller: Caller, { target, jobId, outcome }: TestRecord): Promise<void> {
  const { gatewayId, assetLinkId, instanceId, address } = target
  const [assets = []] = await context.database.transaction(caller, async (tx) => {
    const detail = { gatewayId, jobId, assetLinkId, address, outcome }
    await record(tx, caller, {
      action: 'discovery.testCredential',
      target: `credential-instance/${instanceId}`,
      detail,
    })
    return assetsAt(tx, { gatewayId, assetLinkId, addresses: [address] })
  })
  if (outcome !== 'accepted' && outcome !== 'rejected') return
  // If several devices have this address, it is unknown which of them accepted the credentials.
  const [own, ...others] = assets.filter(({ isOwn }) => isOwn)
  const use = { address, instanceId, worked: outcome === 'accepted' }
  const uses = [{ ...use, ...(own !== undefined && others.length === 0 && { assetId: own.assetId }) }]
  await context.peers(credentials, systemCaller(caller)).recordUse({ body: { data: { gatewayId, jobId, uses } } })
}
