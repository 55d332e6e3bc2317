import { Client, credentials, status } from '@grpc/grpc-js'
import { interfaceName, linkServices, ourVendor, usualVendors, wireMethod } from '@millwright/api/link-protocol.ts'
import { callUnary } from '../call.ts'
import { type Check, type CheckResult, expect, NotApplicable, runCheck, Subject, type SuiteSettings } from './check.ts'
import { credentialChecks } from './credential-checks.ts'
import { discoverChecks, type Findings, runDiscovery } from './discover-checks.ts'
import { infoChecks } from './info-checks.ts'
import { propertyChecks } from './property-checks.ts'
import { updateChecks } from './update-checks.ts'

/** Runs all checks against a link, which can be written in any language. Yields each result when it is available. */
export async function* checkLink(settings: SuiteSettings): AsyncGenerator<CheckResult> {
  using subject = new Subject(settings, settings.vendor ?? ourVendor)
  const reached = await runCheck(reach, subject)
  yield reached
  if (reached.outcome === 'fail') return

  let discovery: Promise<Findings> | undefined
  const findingsOf = (of: Subject) => {
    discovery ??= runDiscovery(of)
    return discovery
  }
  const checks = [
    infoChecks,
    discoverChecks(findingsOf),
    credentialChecks(findingsOf),
    propertyChecks(findingsOf),
    updateChecks(findingsOf),
    registered,
  ]
  for (const check of checks.flat()) {
    yield await runCheck(check, subject)
  }
}

const reach: Check = {
  sentence: 'The link is reachable with a known vendor prefix',
  hint: 'Check the address, that the link listens on it, and that it serves <vendor>.connectivitysuite.drvinfo.v1.',
  async run(subject) {
    for (const vendor of subject.settings.vendor === undefined ? usualVendors : [subject.settings.vendor]) {
      subject.vendor = vendor
      const code = await subject.statusOf(linkServices.driverInfo.method.getVersionInfo, {})
      if (code === status.OK) return
      expect(code === status.UNIMPLEMENTED, `${subject.settings.endpoint} is not reachable (${status[code]}).`)
    }
    expect(false, `${subject.settings.endpoint} is reachable, but not with a known vendor prefix.`)
  },
}

const registered: Check = {
  sentence: 'The link is registered at the gateway, with its address and its interfaces',
  hint: 'Register app_instance_id, the address under which the gateway reaches the link, and the interfaces.',
  async run({ settings, vendor }) {
    if (settings.registry === undefined) throw new NotApplicable('No registry was passed.')
    const { registry } = linkServices
    const method = wireMethod(registry.method.queryRegisteredServices, interfaceName(registry, vendor))
    const client = new Client(settings.registry, credentials.createInsecure())
    try {
      const { infos } = await callUnary(client, { method, request: {}, withinMs: 10_000 })
      const own = infos.find(({ grpcIp, grpcIpPortNumber: port }) => `${grpcIp.value}:${port}` === settings.endpoint)
      expect(own !== undefined, `No entry of the registry has the address ${settings.endpoint}.`)
      expect(own.appInstanceId !== '', 'The registration has no app_instance_id.')
      expect(own.driverSchemaUris.length > 0, 'The registration has no driver_schema_uris.')
      const required = interfaceName(linkServices.discover, vendor)
      expect(
        [...own.interfaces, ...own.appTypes].includes(required),
        `The registration does not list the interface ${required}.`,
      )
    } finally {
      client.close()
    }
  },
}
