import type { MessageInitShape } from '@bufbuild/protobuf'
import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import type {
  DiscoverError,
  DiscoveredDevice,
  DiscoverRequestSchema,
} from '@millwright/api/proto/generated/discover_pb.js'
import { variantOf } from '@millwright/api/variant.ts'
import { type Check, codeOf, expect, NotApplicable, nameOf, type Subject } from './check.ts'
import { assetIdentifiersOf, valuesOf } from './device-values.ts'
import { filtersOf } from './info-checks.ts'

type Request = MessageInitShape<typeof DiscoverRequestSchema>
export type Findings = { devices: DiscoveredDevice[]; errors: DiscoverError[]; emptyMessages: number }

const { discoverDevices } = linkServices.discover.method
/** The maximum number of devices that the checks read, because a plant may have a million devices. */
const enough = 1_000

/** Returns the checks of a discovery. All of these checks use the results of one discovery. */
export function discoverChecks(findingsOf: (subject: Subject) => Promise<Findings>): readonly Check[] {
  return [
    {
      sentence: 'A discovery ends with OK',
      hint: 'DiscoverDevices ends with OK when the scan is complete, also without devices.',
      run: findingsOf,
    },
    {
      sentence: 'Every message of a discovery has content',
      hint: 'A DiscoverResponse contains at least one device or one error.',
      run: async (subject) => expect((await findingsOf(subject)).emptyMessages === 0, 'There are empty messages.'),
    },
    {
      sentence: 'Every value of a device has a URI that names its field',
      hint: 'Give each DeviceIdentifier a classifier of type "URI": <schema>/<Class>#<path>.',
      run: async (subject) => forEachDevice(await findingsOf(subject), checkValues),
    },
    {
      sentence: 'Every device has a unique identifier',
      hint: 'Send asset_identifiers: a MAC address, an IEC 61406 link, or manufacturer, article and serial number.',
      run: async (subject) =>
        forEachDevice(await findingsOf(subject), (device) => {
          const identifiers = assetIdentifiersOf(device)
          expect(identifiers.length > 0, 'A device has no identifier.')
          expect(
            identifiers.every((fields) => Object.keys(fields).length > 0),
            'An identifier of a device is empty.',
          )
        }),
    },
    {
      sentence: 'Every error has a description and a device',
      hint: 'A DiscoverError has a code other than OK, a description, and the device or the target it is about.',
      async run(subject) {
        const { errors } = await findingsOf(subject)
        if (errors.length === 0) throw new NotApplicable('The discovery had no errors.')
        for (const { resultCode, description, source } of errors) {
          expect(resultCode !== 0, 'An error has the code OK.')
          expect(description.trim() !== '', 'An error has no description.')
          expect(source.case !== undefined, `"${description}" names no device.`)
        }
      },
    },
    ...callChecks,
  ]
}

/** The checks that send their own discovery requests: unknown parameters, cancellation and concurrency. */
const callChecks: readonly Check[] = [
  {
    sentence: 'The link rejects an unknown filter',
    hint: 'Return INVALID_ARGUMENT: otherwise a typing error looks like a plant without devices.',
    run: (subject) => mayRefuse(subject, { filters: [strange] }),
  },
  {
    sentence: 'The link rejects an unknown option',
    hint: 'Return INVALID_ARGUMENT: otherwise a typing error has no visible effect.',
    run: (subject) => mayRefuse(subject, { options: [strange] }),
  },
  {
    sentence: 'The link rejects a discovery without a mandatory filter',
    hint: 'Return INVALID_ARGUMENT with a description that names the filter.',
    async run(subject) {
      const filters = await filtersOf(subject)
      const isNeeded = filters.some(({ mandatory, defaultValue }) => mandatory && defaultValue === undefined)
      if (!isNeeded) throw new NotApplicable('The link has no mandatory filter.')
      await refuses(subject, {})
    },
  },
  {
    sentence: 'The link stops a canceled discovery, and can start another one',
    hint: 'End the scan when the call is canceled; do not stay busy.',
    run: checkCancel,
  },
  {
    sentence: 'The link runs a second concurrent discovery, or reports that it is busy',
    hint: 'Return RESOURCE_EXHAUSTED while a discovery is running and only one is possible.',
    async run(subject) {
      const [first, second] = await Promise.all([outcomeOf(subject), outcomeOf(subject)])
      expect(
        [first, second].every((code) => code === status.OK || code === status.RESOURCE_EXHAUSTED),
        `The two discoveries ended with ${nameOf(first)} and ${nameOf(second)}.`,
      )
      expect(first === status.OK || second === status.OK, 'The link rejected both discoveries.')
    },
  },
]

const strange = { key: 'no_link_has_this_one', value: variantOf('x') }

/** Runs a discovery until enough devices are found, then cancels it. */
export async function runDiscovery(
  subject: Subject,
  request: Request = subject.settings.request ?? {},
): Promise<Findings> {
  const findings: Findings = { devices: [], errors: [], emptyMessages: 0 }
  for await (const { devices, errors } of subject.stream(discoverDevices, request)) {
    if (devices.length === 0 && errors.length === 0) findings.emptyMessages += 1
    findings.devices.push(...devices)
    findings.errors.push(...errors)
    if (findings.devices.length >= enough) break
  }
  return findings
}

async function outcomeOf(subject: Subject, request?: Request): Promise<number> {
  return runDiscovery(subject, request).then(
    () => status.OK,
    (error: unknown) => codeOf(error),
  )
}

/**
 * Requires that the link rejects or ignores an unknown parameter. If the link ignores it, the check is skipped with a
 * recommendation to reject it.
 */
async function mayRefuse(subject: Subject, request: Request): Promise<void> {
  const code = await outcomeOf(subject, request)
  if (code === status.OK)
    throw new NotApplicable('The link ignores the unknown key, which is allowed. INVALID_ARGUMENT is better.')
  const refusals: number[] = [status.INVALID_ARGUMENT, status.UNKNOWN, status.NOT_FOUND, status.FAILED_PRECONDITION]
  expect(refusals.includes(code), `The link returned ${nameOf(code)}.`)
}

async function refuses(subject: Subject, request: Request): Promise<void> {
  const code = await outcomeOf(subject, request)
  expect(code === status.INVALID_ARGUMENT, `The link returned ${nameOf(code)}.`)
}

async function checkCancel(subject: Subject): Promise<void> {
  const stream = subject.stream(discoverDevices, subject.settings.request ?? {})
  const ended = new Promise<number>((resolve) => {
    stream.on('error', (error) => resolve(codeOf(error)))
    stream.on('end', () => resolve(status.OK))
  })
  stream.once('data', () => stream.cancel())
  stream.once('metadata', () => stream.cancel())
  const code = await ended
  expect(code === status.CANCELLED || code === status.OK, `The canceled discovery ended with ${nameOf(code)}.`)
  const givenUpAt = performance.now() + subject.withinMs
  for (;;) {
    const again = await outcomeOf(subject)
    if (again === status.OK) return
    expect(again === status.RESOURCE_EXHAUSTED, `Another discovery ended with ${nameOf(again)}.`)
    expect(performance.now() < givenUpAt, 'The link stays busy after a discovery was canceled.')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function forEachDevice({ devices }: Findings, check: (device: DiscoveredDevice) => void): void {
  if (devices.length === 0) throw new NotApplicable('No device was found. Pass a request that finds some.')
  for (const device of devices) check(device)
}

function checkValues(device: DiscoveredDevice): void {
  const values = valuesOf(device)
  expect(values.length > 0, 'A device has no values.')
  for (const { classifier, path, value } of values) {
    expect(/^https?:\/\//.test(classifier), `The classifier "${classifier}" of a value is not a URI.`)
    expect(path !== '', `"${classifier}" names no field after #.`)
    expect(value.case !== undefined, `${path} has no value.`)
  }
}
