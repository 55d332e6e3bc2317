import type { Manifest } from '@millwright/link-sdk/manifest.ts'

export const manifest: Manifest = {
  id: 'example.links.template',
  name: 'Template',
  vendor: 'Example',
  version: '0.1.0',
  description: 'Finds the devices of Example.',
  filters: [{ key: 'ip_range', type: 'text', description: 'Only devices in this range: 10.0.0.1-10.0.0.254' }],
  options: [{ key: 'timeout_ms', type: 'integer', default: 2_000, description: 'How long to wait for a device' }],
}
