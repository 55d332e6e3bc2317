import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { faults } from './fault.ts'

export const manifest: Manifest = {
  id: 'millwright.links.plant',
  name: 'Simulated plant',
  vendor: 'Millwright',
  version: '0.2.0',
  description: 'Simulated plant of any size, for demonstrations and load tests.',
  discoveriesAtOnce: 4,
  sends: [],
  filters: [
    {
      key: 'ip_range',
      type: 'text',
      description: 'Only devices in this range: 10.0.0.1-10.0.3.255, 10.0.0.0/16 or one address',
    },
  ],
  options: [
    { key: 'size', type: 'integer', default: 100, description: 'Number of devices: 1 to 1000000' },
    {
      key: 'seed',
      type: 'integer',
      default: 1,
      description: 'Seed of the plant: 0 to 65535. The same seed creates the same plant',
    },
    {
      key: 'tick',
      type: 'integer',
      default: 0,
      description: 'Simulated time: 0 to 1000000 ticks. Each tick changes some devices',
    },
    {
      key: 'changes_percent',
      type: 'integer',
      default: 5,
      description:
        'Percentage of devices that change with each tick: one third is new, one third is removed, one third has other firmware',
    },
    {
      key: 'protected_percent',
      type: 'integer',
      default: 2,
      description: 'Percentage of devices that require credentials',
    },
    { key: 'silent_percent', type: 'integer', default: 0, description: 'Percentage of devices that do not respond' },
    {
      key: 'update_fault_percent',
      type: 'integer',
      default: 0,
      description: 'Percentage of devices that have a fault in updates',
    },
    {
      key: 'update_faults',
      type: 'text',
      default: '',
      description: `Faults, separated by commas: ${faults.join(', ')}. Empty for all faults`,
    },
    {
      key: 'update_restart_ms',
      type: 'integer',
      default: 2_000,
      description: 'Time that a device needs for a restart after an update, in milliseconds: 0 to 600000',
    },
    { key: 'rate', type: 'integer', default: 0, description: 'Maximum number of devices per second; 0 for no limit' },
    {
      key: 'reference',
      type: 'boolean',
      default: false,
      description: 'Find the six devices of the reference link instead of the plant',
    },
    {
      key: 'interface',
      type: 'text',
      default: '',
      description: 'Network interface of the six devices of the reference link: eth0 or eth1',
    },
  ],
  credentialSchemas: [
    {
      uri: 'urn:millwright:links:plant:credentials:1',
      schema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: 'User of a device',
        type: 'object',
        properties: {
          username: { type: 'string', title: 'User', minLength: 1 },
          password: { type: 'string', title: 'Password', format: 'password', writeOnly: true },
        },
        required: ['username', 'password'],
        additionalProperties: false,
      },
    },
  ],
}
