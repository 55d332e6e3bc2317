import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { interfaceOption } from '@millwright/link-sdk/network/local-network.ts'
import { rangeFilters } from '@millwright/link-sdk/network/range.ts'

const sent = { protocol: 'bacnet', transport: 'udp' as const, ports: [47_808], portsOption: 'ports' }
const sentToBbmd = { protocol: 'bacnet', transport: 'udp' as const, ports: [47_808], onlyIf: 'bbmd' }

export const manifest: Manifest = {
  id: 'millwright.links.bacnet',
  name: 'BACnet',
  vendor: 'Millwright',
  version: '0.1.0',
  description: 'Devices that speak BACnet/IP, and devices behind BACnet routers.',
  sends: [
    {
      ...sent,
      operation: 'WhoIs',
      code: '0x10/0x08',
      description: 'Requests the instance of the device at an address',
    },
    {
      ...sent,
      operation: 'ReadProperty',
      code: '0x00/0x0C',
      description: 'Reads one property of the device object',
    },
    {
      ...sent,
      operation: 'ReadPropertyMultiple',
      code: '0x00/0x0E',
      description: 'Reads the nameplate: properties of the device object',
    },
    {
      ...sent,
      operation: 'BroadcastWhoIs',
      code: '0x10/0x08',
      onlyIf: 'broadcast',
      description: 'Requests the instances of all devices of a network segment, only with the option broadcast',
    },
    {
      ...sentToBbmd,
      operation: 'RegisterForeignDevice',
      code: '0x81/0x05',
      description: 'Registers the link at a BBMD for some seconds, only with the option bbmd',
    },
    {
      ...sentToBbmd,
      operation: 'DistributeBroadcast',
      code: '0x81/0x09',
      description: 'Requests the instances of all devices of the networks of a BBMD, only with the option bbmd',
    },
    {
      ...sentToBbmd,
      operation: 'DeleteForeignDevice',
      code: '0x81/0x08',
      description: 'Deletes the registration at a BBMD, only with the option bbmd',
    },
  ],
  filters: rangeFilters,
  options: [
    { key: 'ports', type: 'text', default: '47808', description: 'UDP ports such as 47808 or 47808-47811' },
    {
      key: 'low_instance',
      type: 'integer',
      default: 0,
      description: 'Lowest instance of the devices that are reported: 0 to 4194303',
    },
    {
      key: 'high_instance',
      type: 'integer',
      default: 4_194_303,
      description: 'Highest instance of the devices that are reported: 0 to 4194303',
    },
    {
      key: 'routers',
      type: 'boolean',
      default: false,
      description: 'Also find devices behind BACnet routers, such as devices on MS/TP lines',
    },
    {
      key: 'broadcast',
      type: 'boolean',
      default: false,
      description:
        'Send one request to all devices of the segments of the gateway, instead of one request to each address',
    },
    {
      key: 'bbmd',
      type: 'text',
      default: '',
      description:
        'BBMD that sends the request to all devices of its networks, such as 10.0.0.2 or 10.0.0.2:47808. Empty: none',
    },
    {
      key: 'collect_ms',
      type: 'integer',
      default: 3_000,
      description: 'Time to collect the answers of devices behind routers and to broadcasts: 100 to 60000 milliseconds',
    },
    {
      key: 'timeout_ms',
      type: 'integer',
      default: 1_000,
      description:
        'Maximum time for an answer: 50 to 30000 milliseconds. A request that reads a found device is repeated once',
    },
    {
      key: 'device_seconds',
      type: 'integer',
      default: 60,
      description: 'Maximum time to read one address, with the devices behind it: 1 to 3600 seconds',
    },
    { key: 'parallel', type: 'integer', default: 64, description: 'Addresses that are scanned at once: 1 to 256' },
    interfaceOption,
  ],
}
