import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { interfaceOption } from '@millwright/link-sdk/network/local-network.ts'
import { rangeFilters } from '@millwright/link-sdk/network/range.ts'
import { credentialSchemas } from './identity.ts'
import { defaultPort, sentFunctions } from './services.ts'

export const manifest: Manifest = {
  id: 'millwright.links.opcua',
  name: 'OPC UA',
  vendor: 'Millwright',
  version: '0.1.0',
  description: 'Finds OPC UA servers: endpoints, certificates, build information and nameplates of devices.',
  sends: sentFunctions,
  filters: rangeFilters,
  options: [
    {
      key: 'ports',
      type: 'text',
      default: String(defaultPort),
      description: 'Ports of OPC UA servers: 4840 or 4840, 48010-48020',
    },
    {
      key: 'timeout_ms',
      type: 'integer',
      default: 900,
      description: 'Time for a connection in milliseconds: 50 to 60000. It is tried again every 900 milliseconds',
    },
    {
      key: 'answer_timeout_ms',
      type: 'integer',
      default: 5_000,
      description:
        'Time for each answer of a server in milliseconds: 50 to 60000. Controllers need some seconds for the first secured answer',
    },
    {
      key: 'device_seconds',
      type: 'integer',
      default: 60,
      description: 'Maximum time to read one server after it accepted the connection: 1 to 3600 seconds',
    },
    {
      key: 'parallel',
      type: 'integer',
      default: 64,
      description: 'Addresses that are scanned at the same time: 1 to 256',
    },
    {
      key: 'follow_discovery_servers',
      type: 'boolean',
      default: true,
      description: 'Also read the servers on other ports of the same address that a discovery server lists',
    },
    {
      key: 'allow_plain_password',
      type: 'boolean',
      default: false,
      description: 'Send passwords also over channels without encryption. Anyone in the network can then read them',
    },
    interfaceOption,
  ],
  credentialSchemas,
}
