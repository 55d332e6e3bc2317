import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { interfaceOption } from '@millwright/link-sdk/network/local-network.ts'
import { rangeFilters } from '@millwright/link-sdk/network/range.ts'

export const manifest: Manifest = {
  id: 'millwright.links.profinet',
  name: 'PROFINET',
  vendor: 'Millwright',
  version: '0.1.0',
  description:
    'PROFINET devices on the network segments of the gateway, also without an IP address, and LLDP neighbours.',
  sends: [
    {
      protocol: 'profinet',
      operation: 'DcpIdentify',
      code: '0xFEFE/5',
      transport: 'ethernet',
      description:
        'Multicast frame to 01:0e:cf:00:00:00 that all PROFINET devices of the segment answer with their name, type, ids and IP address',
    },
    {
      protocol: 'profinet',
      operation: 'ReadImplicit',
      code: 'RPC 5',
      transport: 'udp',
      ports: [34_964],
      onlyIf: 'read_records',
      description: 'Reads the nameplate (I&M0) and the neighbours of the ports, only with the option read_records',
    },
  ],
  filters: rangeFilters,
  options: [
    {
      key: 'requests',
      type: 'integer',
      default: 2,
      description:
        'Number of Identify frames per network interface: 1 to 5. A second frame finds devices that miss the first',
    },
    {
      key: 'spread_ms',
      type: 'integer',
      default: 640,
      description:
        'Time over which the devices spread their answers: 10 to 64000 milliseconds. Use more for segments with many hundred devices',
    },
    {
      key: 'timeout_ms',
      type: 'integer',
      default: 1_000,
      description: 'Time to wait for further answers after the spread, and for each record: 50 to 30000 milliseconds',
    },
    {
      key: 'lldp_seconds',
      type: 'integer',
      default: 6,
      description:
        'Time to listen for LLDP frames of the devices at the network ports of the gateway: 0 to 120 seconds. PROFINET devices send one every 5 seconds, other switches every 30. 0: off',
    },
    {
      key: 'read_records',
      type: 'boolean',
      default: false,
      description:
        'Read the order number, serial number and firmware (I&M0) and the cables of each device with an IP address, over UDP port 34964',
    },
    {
      key: 'device_seconds',
      type: 'integer',
      default: 15,
      description: 'Maximum time to read the records of one device: 1 to 3600 seconds',
    },
    {
      key: 'parallel',
      type: 'integer',
      default: 16,
      description: 'Devices whose records are read at once: 1 to 256',
    },
    {
      ...interfaceOption,
      description:
        'Network interface of the gateway to send from, such as eth0. Empty: all interfaces whose network contains addresses of the range',
    },
  ],
}
