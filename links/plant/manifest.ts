import type { Manifest } from '@millwright/link-sdk/manifest.ts'

export const manifest: Manifest = {
  id: 'millwright.links.plant',
  name: 'Plant',
  vendor: 'Millwright',
  version: '0.1.0',
  description: 'A made-up plant of any size, for demonstrations, tests and load.',
  discoveriesAtOnce: 4,
  filters: [
    {
      key: 'ip_range',
      type: 'text',
      description: 'Only devices in this range: 10.0.0.1-10.0.3.255, 10.0.0.0/16 or one address',
    },
  ],
  options: [
    { key: 'size', type: 'integer', default: 100, description: 'How many devices the plant has: 1 to 1000000' },
    { key: 'seed', type: 'integer', default: 1, description: 'Which plant: 0 to 65535. The same seed, the same plant' },
    { key: 'tick', type: 'integer', default: 0, description: 'How far time has gone on: 0 to 1000000' },
    {
      key: 'changes_percent',
      type: 'integer',
      default: 5,
      description: 'How many devices change with each tick: a third each are new, gone, and have other firmware',
    },
    {
      key: 'protected_percent',
      type: 'integer',
      default: 2,
      description: 'How many devices can be read only by a user that they know',
    },
    { key: 'silent_percent', type: 'integer', default: 0, description: 'How many devices do not answer' },
    { key: 'rate', type: 'integer', default: 0, description: 'Devices a second, at most; 0 for as fast as it goes' },
    {
      key: 'reference',
      type: 'boolean',
      default: false,
      description: 'Instead of a plant, the six devices of the reference link',
    },
    { key: 'interface', type: 'text', default: '', description: 'eth0 or eth1, for the six devices only' },
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
