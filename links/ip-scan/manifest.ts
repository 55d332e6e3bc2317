import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { interfaceOption } from '@millwright/link-sdk/network/local-network.ts'
import { rangeFilters } from '@millwright/link-sdk/network/range.ts'

/** The default ports: usual ports of automation devices, and of other devices in a plant. The first two find hosts. */
export const defaultPorts = [
  80, 443, 22, 23, 21, 102, 445, 502, 1883, 2404, 3389, 4840, 5900, 8080, 20_000, 44_818,
] as const

export const manifest: Manifest = {
  id: 'millwright.links.ip-scan',
  name: 'IP scan',
  vendor: 'Millwright',
  version: '0.1.0',
  description: 'Finds all devices with an IP address, with their MAC address, manufacturer, name and open TCP ports.',
  sends: [
    {
      protocol: 'tcp',
      operation: 'connect',
      transport: 'tcp',
      ports: [...defaultPorts],
      portsOption: 'ports',
      description: 'Opens a connection and closes it immediately. Sends no data',
    },
    {
      protocol: 'icmp',
      operation: 'echo',
      code: 'type 8',
      transport: 'icmp',
      onlyIf: 'icmp',
      description:
        'Echo request (ping) without data, to addresses behind a router and to devices that do not answer TCP',
    },
    {
      protocol: 'udp',
      operation: 'empty datagram',
      transport: 'udp',
      ports: [9],
      description: 'Datagram without data to the discard port, only if no TCP port is probed and ping is not available',
    },
    {
      protocol: 'dns',
      operation: 'PTR query',
      code: 'type 12',
      transport: 'udp',
      ports: [53],
      onlyIf: 'reverse_dns',
      description: 'Query for the name of a device. It is sent to the DNS server, not to the device',
    },
  ],
  filters: rangeFilters,
  options: [
    {
      key: 'ports',
      type: 'text',
      default: defaultPorts.join(','),
      description: 'TCP ports to probe, at most 64, such as 80,443 or 5000-5010. Empty: no TCP connections',
    },
    {
      key: 'icmp',
      type: 'boolean',
      default: true,
      description: 'Send ICMP echo requests, if the program ping of the gateway can send them',
    },
    {
      key: 'reverse_dns',
      type: 'boolean',
      default: true,
      description: 'Query the names of devices from the DNS server',
    },
    {
      key: 'dns_server',
      type: 'text',
      default: '',
      description: 'DNS server for the names, such as 10.0.0.2. Empty: the DNS server of the gateway',
    },
    {
      key: 'timeout_ms',
      type: 'integer',
      default: 900,
      description: 'Time to wait for each answer: 50 to 950 milliseconds',
    },
    { key: 'parallel', type: 'integer', default: 64, description: 'Number of addresses probed concurrently: 1 to 256' },
    interfaceOption,
  ],
}
