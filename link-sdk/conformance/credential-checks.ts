import type { MessageInitShape } from '@bufbuild/protobuf'
import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import type { ConnectionParameterSet, DestinationSchema } from '@millwright/api/proto/generated/address_pb.js'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { ConfigSchema } from '@millwright/api/proto/generated/driver-info_pb.js'
import { type Check, codeOf, expect, NotApplicable, type Subject } from './check.ts'
import { type Findings, runDiscovery } from './discover-checks.ts'

const { getConfigSchema } = linkServices.driverInfo.method
/** No device has it, and no link may repeat it. */
const madeUp = 'made-up-by-the-conformance-suite'

/** Devices that want to know who asks. The device is the first that says so. */
export function credentialChecks(found: (subject: Subject) => Promise<Findings>): readonly Check[] {
  return [
    {
      sentence: 'Its credential schemas say what is secret',
      hint: 'Mark passwords and keys with "writeOnly": true or "format": "password": nobody gets to see them then.',
      async run(subject) {
        const schemas = await schemasOf(subject)
        if (schemas.length === 0) throw new NotApplicable('It has none.')
        for (const { uri, schema } of schemas) {
          expect(/"writeOnly"\s*:\s*true|"format"\s*:\s*"password"/.test(schema), `Nothing in ${uri} is secret.`)
        }
      },
    },
    {
      sentence: 'A protected device says where it is, so that credentials can be asked for',
      hint: 'Put the address of the device into parameter_json of the source of the error.',
      async run(subject) {
        const { parameterJson } = await lockedDevice(subject, found)
        expect(isObject(parameterJson), `parameter_json is "${parameterJson}", no JSON object.`)
      },
    },
    {
      sentence: 'A protected device refuses credentials that are wrong, and does not repeat them',
      hint: 'Look at the targets of a DiscoverRequest alone, with their credentials; answer UNAUTHENTICATED again.',
      async run(subject) {
        const connection = await lockedDevice(subject, found)
        const [schema] = await schemasOf(subject)
        if (schema === undefined) throw new NotApplicable('It says no schema by which credentials could be made up.')
        const wrong = { schemaUri: schema.uri, credentials: JSON.stringify(inventedFor(schema.schema)) }
        const { devices, errors } = await ask(subject, connection, wrong)
        expect(devices.length === 0, 'It opens with credentials that were made up.')
        expect(errors.length === 1, `There are ${errors.length} errors for one target.`)
        const [error] = errors
        expect(error?.resultCode === Code.UNAUTHENTICATED, `The code is ${Code[error?.resultCode ?? 0]}.`)
        expect(
          !JSON.stringify([error.description, error.source]).includes(madeUp),
          'The error repeats the credentials.',
        )
      },
    },
    {
      sentence: 'A protected device opens with the right credentials, and it alone is looked at',
      hint: 'Look at the targets of a DiscoverRequest alone, each with the credentials that it has.',
      async run(subject) {
        const { credentials } = subject.settings
        if (credentials === undefined) throw new NotApplicable('No credentials were given.')
        const connection = await lockedDevice(subject, found)
        const [schema] = await schemasOf(subject)
        const right = { schemaUri: schema?.uri ?? '', credentials }
        const { devices, errors } = await ask(subject, connection, right)
        expect(errors.length === 0, `It answers: ${errors[0]?.description}`)
        expect(devices.length === 1, `There are ${devices.length} devices for one target.`)
      },
    },
  ]
}

async function schemasOf(subject: Subject): Promise<ConfigSchema[]> {
  const none: number[] = [status.UNIMPLEMENTED, status.FAILED_PRECONDITION]
  return subject.ask(getConfigSchema, {}).then(
    ({ schemas }) => schemas,
    (error: unknown) => {
      if (none.includes(codeOf(error))) return []
      throw error
    },
  )
}

async function lockedDevice(
  subject: Subject,
  found: (subject: Subject) => Promise<Findings>,
): Promise<ConnectionParameterSet> {
  const { errors } = await found(subject)
  const locked = errors.find(({ resultCode }) => resultCode === Code.UNAUTHENTICATED)
  if (locked === undefined) throw new NotApplicable('No device is protected.')
  const target = locked.source.value?.target
  expect(target?.case === 'connectionParameterSet', 'The error has no connection_parameter_set.')
  return target.value
}

type Credential = { schemaUri: string; credentials: string }

/** The same discovery again, for one device alone. */
async function ask(subject: Subject, connection: ConnectionParameterSet, credential: Credential): Promise<Findings> {
  const { schemaUri, parameterJson, subdriverJson } = connection
  const target: MessageInitShape<typeof DestinationSchema> = {
    target: {
      case: 'connectionParameterSet',
      value: { schemaUri, parameterJson, subdriverJson, credentials: [credential] },
    },
  }
  const { filters = [], options = [] } = subject.settings.request ?? {}
  return runDiscovery(subject, { filters, options, target: [target] })
}

/** Every text of a schema, made up; what is not text is left out. */
function inventedFor(schema: string): Record<string, string> {
  const { properties } = JSON.parse(schema) as { properties?: Record<string, { type?: unknown }> }
  const texts = Object.entries(properties ?? {}).filter(([, { type }]) => type === 'string')
  return Object.fromEntries(texts.map(([name]) => [name, madeUp]))
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
