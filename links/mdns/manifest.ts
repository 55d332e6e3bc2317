import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { interfaceOption } from '@millwright/link-sdk/network/local-network.ts'
import { rangeFilters } from '@millwright/link-sdk/network/range.ts'

const query = { protocol: 'mdns', transport: 'udp' as const, ports: [5353], portsOption: 'ports' }

export const manifest: Manifest = {
  id: 'millwright.links.mdns',
  name: 'mDNS',
  vendor: 'Millwright',
  version: '0.1.0',
  description: 'Devices that announce their services with multicast DNS: printers, cameras, IoT gateways, computers.',
  sends: [
    {
      ...query,
      operation: 'PTR query',
      code: 'type 12',
      description: 'Query to one device for its types of services, its services and its name',
    },
    {
      ...query,
      operation: 'SRV query',
      code: 'type 33',
      description: 'Query to one device for the host and the port of a service',
    },
    {
      ...query,
      operation: 'TXT query',
      code: 'type 16',
      description: 'Query to one device for the description of a service',
    },
    { ...query, operation: 'A query', code: 'type 1', description: 'Query to one device for the address of a host' },
    {
      ...query,
      operation: 'Multicast PTR query',
      code: 'type 12',
      onlyIf: 'multicast',
      description:
        'Query to the group 224.0.0.251, which all devices of the segment receive, only with the option multicast',
    },
  ],
  filters: rangeFilters,
  options: [
    { key: 'ports', type: 'text', default: '5353', description: 'UDP ports such as 5353 or 5353,5354' },
    {
      key: 'multicast',
      type: 'boolean',
      default: false,
      description:
        'Find the devices of the segments of the gateway with a multicast query, which all devices of a segment receive',
    },
    {
      key: 'timeout_ms',
      type: 'integer',
      default: 900,
      description:
        'Maximum time for an answer: 50 to 30000 milliseconds. A query for a record that the device announced is repeated once',
    },
    {
      key: 'device_seconds',
      type: 'integer',
      default: 30,
      description: 'Maximum time to read one device after its first answer: 1 to 3600 seconds',
    },
    { key: 'parallel', type: 'integer', default: 64, description: 'Addresses that are scanned at once: 1 to 256' },
    interfaceOption,
  ],
}
