import type { MessageInitShape } from '@bufbuild/protobuf'
import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import type { ConnectionParameterSet, DestinationSchema } from '@millwright/api/proto/generated/address_pb.js'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { ConfigSchema } from '@millwright/api/proto/generated/driver-info_pb.js'
import { type Check, codeOf, expect, NotApplicable, type Subject } from './check.ts'
import { type Findings, runDiscovery } from './discover-checks.ts'

const { getConfigSchema } = linkServices.driverInfo.method
/** A credential value that no device accepts. No link may repeat this value in a response. */
const inventedValue = 'made-up-by-the-conformance-suite'

/** Returns the checks that use the first protected device of the discovery. */
export function credentialChecks(findingsOf: (subject: Subject) => Promise<Findings>): readonly Check[] {
  return [
    {
      sentence: 'The credential schemas of the link mark secret fields',
      hint: 'Mark passwords and keys with "writeOnly": true or "format": "password", so that they are never displayed.',
      async run(subject) {
        const schemas = await schemasOf(subject)
        if (schemas.length === 0) throw new NotApplicable('The link has no credential schema.')
        for (const { uri, schema } of schemas) {
          expect(/"writeOnly"\s*:\s*true|"format"\s*:\s*"password"/.test(schema), `${uri} has no secret field.`)
        }
      },
    },
    {
      sentence: 'The error of a protected device contains its address, so that credentials can be requested',
      hint: 'Put the address of the device into parameter_json of the source of the error.',
      async run(subject) {
        const { parameterJson } = await lockedDevice(subject, findingsOf)
        expect(isObject(parameterJson), `parameter_json is "${parameterJson}", not a JSON object.`)
      },
    },
    {
      sentence: 'A protected device rejects wrong credentials, and the error does not repeat them',
      hint: 'Scan only the targets of a DiscoverRequest, with their credentials; return UNAUTHENTICATED again.',
      async run(subject) {
        const connection = await lockedDevice(subject, findingsOf)
        const [schema] = await schemasOf(subject)
        if (schema === undefined) throw new NotApplicable('The link has no schema for test credentials.')
        const wrong = { schemaUri: schema.uri, credentials: JSON.stringify(inventedFor(schema.schema)) }
        const { devices, errors } = await ask(subject, connection, wrong)
        expect(devices.length === 0, 'The device accepts invented credentials.')
        expect(errors.length === 1, `There are ${errors.length} errors for one target.`)
        const [error] = errors
        expect(error?.resultCode === Code.UNAUTHENTICATED, `The code is ${Code[error?.resultCode ?? 0]}.`)
        expect(
          !JSON.stringify([error.description, error.source]).includes(inventedValue),
          'The error repeats the credentials.',
        )
      },
    },
    {
      sentence: 'A protected device accepts correct credentials, and only this device is scanned',
      hint: 'Scan only the targets of a DiscoverRequest, each with its own credentials.',
      async run(subject) {
        const { credentials } = subject.settings
        if (credentials === undefined) throw new NotApplicable('No credentials were passed.')
        const connection = await lockedDevice(subject, findingsOf)
        const [schema] = await schemasOf(subject)
        const right = { schemaUri: schema?.uri ?? '', credentials }
        const { devices, errors } = await ask(subject, connection, right)
        expect(errors.length === 0, `The link returned: ${errors[0]?.description}`)
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
  findingsOf: (subject: Subject) => Promise<Findings>,
): Promise<ConnectionParameterSet> {
  const { errors } = await findingsOf(subject)
  const locked = errors.find(({ resultCode }) => resultCode === Code.UNAUTHENTICATED)
  if (locked === undefined) throw new NotApplicable('No device is protected.')
  const target = locked.source.value?.target
  expect(target?.case === 'connectionParameterSet', 'The error has no connection_parameter_set.')
  return target.value
}

type Credential = { schemaUri: string; credentials: string }

/** Repeats the discovery for one device only, with one credential. */
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

/** Returns invented values for all text fields of a schema. Fields with fixed values get one of them. */
function inventedFor(schema: string): Record<string, string> {
  const { properties } = JSON.parse(schema) as { properties?: Record<string, { type?: unknown; enum?: string[] }> }
  const texts = Object.entries(properties ?? {}).filter(([, { type }]) => type === 'string')
  return Object.fromEntries(texts.map(([name, { enum: allowed }]) => [name, allowed?.at(-1) ?? inventedValue]))
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
