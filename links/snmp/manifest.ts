import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { interfaceOption } from '@millwright/link-sdk/network/local-network.ts'
import { rangeFilters } from '@millwright/link-sdk/network/range.ts'
import { authProtocols, privProtocols } from './login.ts'

const password = { type: 'string', format: 'password', writeOnly: true } as const

export const credentialSchema = {
  uri: 'urn:millwright:links:snmp:credentials:1',
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'SNMP access',
    type: 'object',
    properties: {
      version: { type: 'string', title: 'Version', enum: ['1', '2c', '3'] },
      community: { ...password, title: 'Community (versions 1 and 2c)', minLength: 1 },
      user: { type: 'string', title: 'User (version 3)', minLength: 1, maxLength: 32 },
      authProtocol: { type: 'string', title: 'Authentication protocol', enum: Object.keys(authProtocols) },
      authPassword: { ...password, title: 'Authentication password', minLength: 8 },
      privProtocol: { type: 'string', title: 'Privacy protocol', enum: Object.keys(privProtocols) },
      privPassword: { ...password, title: 'Privacy password', minLength: 8 },
      contextName: { type: 'string', title: 'Context name', maxLength: 255 },
    },
    required: ['version'],
    allOf: [
      {
        if: { properties: { version: { enum: ['1', '2c'] } } },
        else: { required: ['user', 'authPassword', 'privPassword'] },
      },
      { if: { properties: { version: { const: '3' } } }, else: { required: ['community'] } },
    ],
    additionalProperties: false,
  },
} as const

const sent = { protocol: 'snmp', transport: 'udp' as const, ports: [161], portsOption: 'port' }

export const manifest: Manifest = {
  id: 'millwright.links.snmp',
  name: 'SNMP',
  vendor: 'Millwright',
  version: '1.0.0',
  description:
    'Finds network devices with SNMP v1, v2c and v3: system group, ENTITY-MIB, interfaces, LLDP neighbours and bridge tables.',
  discoveriesAtOnce: 4,
  sends: [
    {
      ...sent,
      operation: 'EngineDiscovery',
      code: '0xA0',
      description: 'Empty Get of version 3 without a user: asks for the id of the SNMP engine',
    },
    { ...sent, operation: 'Get', code: '0xA0', description: 'Reads named values of the ENTITY-MIB' },
    { ...sent, operation: 'GetNext', code: '0xA1', description: 'Reads the system group, and tables with version 1' },
    { ...sent, operation: 'GetBulk', code: '0xA5', description: 'Reads tables with versions 2c and 3' },
  ],
  filters: rangeFilters,
  options: [
    { key: 'port', type: 'text', default: '161', description: 'UDP port of the agents. Several ports: 161, 1161' },
    {
      key: 'timeout_ms',
      type: 'integer',
      default: 1_000,
      description: 'Time to wait for an answer: 50 to 30000 milliseconds. Each request is repeated once',
    },
    {
      key: 'device_seconds',
      type: 'integer',
      default: 15,
      description: 'Maximum time to read one device: 1 to 600 seconds',
    },
    { key: 'parallel', type: 'integer', default: 64, description: 'Devices that are read at the same time: 1 to 1024' },
    {
      key: 'neighbours',
      type: 'boolean',
      default: true,
      description: 'Read LLDP and bridge tables, and report which devices are connected',
    },
    interfaceOption,
  ],
  credentialSchemas: [credentialSchema],
}
