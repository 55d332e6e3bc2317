import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { AlarmNotificationSchema } from './generated/alarms-events_pb.js'
import { ArtefactChunkSchema } from './generated/artefact-update_pb.js'
import { DiscoveryResultsReplySchema } from './generated/device-discovery_pb.js'
import { PropertyValueResultSchema } from './generated/device-info_pb.js'
import { DiscoverRequestSchema, DiscoverResponseSchema } from './generated/discover_pb.js'
import { VersionInfoSchema } from './generated/driver-info_pb.js'
import { FirmwareRequestSchema } from './generated/firmware-update_pb.js'
import {
  RegisterServiceRequestSchema,
  RegisterServiceResponseSchema,
  ServiceInfoFilterSchema,
} from './generated/registry_pb.js'
import { VariantSchema } from './generated/variant_pb.js'
import { hashOfSources, recordedSources } from './sources.ts'

test('the generated code matches the .proto files', () => {
  assert.equal(
    readFileSync(recordedSources, 'utf8').trim(),
    hashOfSources(),
    'a .proto file changed: run node tools/generate-protocol.mjs',
  )
})

/** Encodes a text field by hand: the field number and the wire type, then the value. */
const text = (field: number, value: string | number[]) => {
  const bytes = typeof value === 'string' ? [...Buffer.from(value)] : value
  return [...key(field, 2), bytes.length, ...bytes]
}
const number = (field: number, value: number) => [...key(field, 0), value]
const fixed64 = (field: number, ...bytes: number[]) => [...key(field, 1), ...bytes]
/** Encodes the field number and the wire type. A number above 127 takes two bytes, with the lower seven bits first. */
const key = (field: number, type: number) =>
  field < 16 ? [(field << 3) | type] : [((field << 3) & 0x7f) | type | 0x80, field >> 4]

function isWritten<Schema extends DescMessage>(schema: Schema, init: MessageInitShape<Schema>, bytes: number[]): void {
  const message = create(schema, init)
  assert.deepEqual([...toBinary(schema, message)], bytes)
  assert.deepEqual(fromBinary(schema, Uint8Array.from(bytes)), message)
}

test('encodes a registration and a registry filter with the specified field numbers', () => {
  isWritten(
    RegisterServiceRequestSchema,
    {
      info: {
        appInstanceId: 'a',
        grpcIp: { case: 'ipv4Address', value: '10.0.0.1' },
        grpcIpPortNumber: 80,
        appTypes: ['t'],
        interfaces: ['i'],
        driverSchemaUris: ['d'],
      },
    },
    text(1, [
      ...text(2, '10.0.0.1'),
      ...number(3, 80),
      ...text(4, 't'),
      ...text(5, 'd'),
      ...text(7, 'a'),
      ...text(8, 'i'),
    ]),
  )
  isWritten(RegisterServiceResponseSchema, { expireTime: 60 }, number(2, 60))
  isWritten(
    ServiceInfoFilterSchema,
    { appInstanceIds: ['a'], appTypes: ['b'], driverSchemaUris: ['c'], interfaces: ['d'] },
    [...text(2, 'a'), ...text(3, 'b'), ...text(4, 'c'), ...text(5, 'd')],
  )
})

test('encodes the version information of a link with the specified field numbers', () => {
  isWritten(
    VersionInfoSchema,
    {
      major: 1,
      minor: 2,
      patch: 3,
      suffix: '-0',
      vendorName: 'v',
      productName: 'p',
      docuUrl: 'd',
      feedbackUrl: 'f',
      productDescription: 'x',
    },
    [
      ...number(1, 1),
      ...number(2, 2),
      ...number(3, 3),
      ...text(4, 'v'),
      ...text(5, 'p'),
      ...text(6, 'd'),
      ...text(7, '-0'),
      ...text(8, 'f'),
      ...text(9, 'x'),
    ],
  )
})

test('encodes the filters, options and targets of a discovery request', () => {
  isWritten(
    DiscoverRequestSchema,
    {
      filters: [{ key: 'k', operator: 6, value: { value: { case: 'text', value: '*' } } }],
      options: [{ key: 'o', value: { value: { case: 'boolValue', value: true } } }],
      target: [
        {
          target: {
            case: 'connectionParameterSet',
            value: { schemaUri: 's', parameterJson: '{}', credentials: [{ schemaUri: 'u', credentials: 'c' }] },
          },
        },
      ],
    },
    [
      ...text(1, [...text(1, 'k'), ...number(2, 6), ...text(3, text(5, '*'))]),
      ...text(2, [...text(1, 'o'), ...text(3, number(1, 1))]),
      ...text(3, text(1, [...text(1, 's'), ...text(2, '{}'), ...text(4, [...text(1, 'u'), ...text(2, 'c')])])),
    ],
  )
})

test('encodes discovered devices and errors with nested identifiers and an eight-byte timestamp', () => {
  const classifiers = [{ type: 'URI', value: 'u' }]
  const classified = text(8, [...text(1, 'URI'), ...text(2, 'u')])
  isWritten(
    DiscoverResponseSchema,
    {
      devices: [
        {
          timestamp: 1n,
          identifiers: [
            { classifiers, value: { case: 'uint64Value', value: 7n } },
            {
              classifiers,
              value: { case: 'children', value: { value: [{ value: { case: 'text', value: 't' } }] } },
            },
          ],
        },
      ],
      errors: [
        {
          resultCode: 16,
          description: 'd',
          source: { case: 'device', value: { target: { case: 'connectionName', value: 'n' } } },
        },
      ],
    },
    [
      ...text(1, [
        ...text(1, [...number(3, 7), ...classified]),
        ...text(1, [...text(7, text(1, text(5, 't'))), ...classified]),
        ...fixed64(3, 1, 0, 0, 0, 0, 0, 0, 0),
      ]),
      ...text(2, [...number(1, 16), ...text(2, 'd'), ...text(4, text(2, 'n'))]),
    ],
  )
})

test('encodes a property error, and struct and array values', () => {
  isWritten(
    PropertyValueResultSchema,
    { result: { case: 'error', value: { resultCode: 9, description: 'd', key: 'k' } } },
    text(2, [...number(1, 9), ...text(2, 'd'), ...text(3, 'k')]),
  )
  isWritten(
    VariantSchema,
    { value: { case: 'structValue', value: { fields: { a: { value: { case: 'nullValue', value: 0 } } } } } },
    text(8, text(1, [...text(1, 'a'), ...text(2, number(10, 0))])),
  )
  isWritten(
    VariantSchema,
    { value: { case: 'arrayValue', value: { values: [{ value: { case: 'int64Value', value: 1n } }] } } },
    text(9, text(1, number(2, 1))),
  )
})

test('encodes alarms, artefact metadata, firmware requests and first-generation discovery results', () => {
  isWritten(AlarmNotificationSchema, { alarmId: 'a', isActive: 1, extendedProperties: [{ key: 'k' }] }, [
    ...text(1, 'a'),
    ...number(12, 1),
    ...text(16, text(1, 'k')),
  ])
  isWritten(
    ArtefactChunkSchema,
    {
      data: {
        case: 'metadata',
        value: { jobIdentifier: { jobId: 'j' }, deviceIdentifier: { blob: Uint8Array.of(1) } },
      },
    },
    text(1, [...text(1, text(1, 'j')), ...text(4, text(1, [1]))]),
  )
  // A signed number uses ZigZag encoding: -1 is encoded as 1.
  isWritten(FirmwareRequestSchema, { deviceId: 'd', timeout: -1, retry: 3 }, [
    ...text(1, 'd'),
    ...number(3, 1),
    ...number(4, 6),
  ])
  isWritten(
    DiscoveryResultsReplySchema,
    { devices: [{ parameters: { name: 'n' } }] },
    text(1, text(1, text(1, [...text(1, 'name'), ...text(2, text(3, 'n'))]))),
  )
})
