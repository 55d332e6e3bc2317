import type { Manifest } from '@millwright/link-sdk/manifest.ts'

/** The fields that users enter on the platform for protected devices. `writeOnly` fields are secret. */
export const credentialSchema = {
  uri: 'urn:example:links:template:credentials:1',
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'User of a device',
    type: 'object',
    properties: {
      username: { type: 'string', title: 'User' },
      password: { type: 'string', title: 'Password', format: 'password', writeOnly: true },
    },
    required: ['username', 'password'],
  },
}

export const manifest: Manifest = {
  id: 'example.links.template',
  name: 'Template',
  vendor: 'Example',
  version: '0.1.0',
  description: 'Finds the devices of Example.',
  // The template sends nothing. List every function that your link sends, and take a permit before each packet.
  sends: [],
  filters: [{ key: 'ip_range', type: 'text', description: 'Only devices in this range: 10.0.0.1-10.0.0.254' }],
  options: [{ key: 'timeout_ms', type: 'integer', default: 2_000, description: 'How long to wait for a device' }],
  credentialSchemas: [credentialSchema],
}
