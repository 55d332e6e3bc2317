import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { interfaceOption } from '@millwright/link-sdk/network/local-network.ts'
import { rangeFilters } from '@millwright/link-sdk/network/range.ts'

const shared = { protocol: 'ethernet-ip', ports: [44_818], portsOption: 'ports' }
const overTcp = { ...shared, transport: 'tcp' as const, onlyIf: 'tcp' }

export const manifest: Manifest = {
  id: 'millwright.links.ethernet-ip',
  name: 'EtherNet/IP',
  vendor: 'Millwright',
  version: '0.1.0',
  description: 'Devices that speak EtherNet/IP, and the modules in their slots.',
  sends: [
    {
      ...shared,
      operation: 'ListIdentity',
      code: '0x0063',
      transport: 'udp',
      onlyIf: 'udp',
      description: 'Reads vendor, product, revision, serial number and status with one datagram',
    },
    { ...overTcp, operation: 'Connect', description: 'Opens a TCP connection' },
    {
      ...overTcp,
      operation: 'ListIdentity',
      code: '0x0063',
      description: 'Reads the identity of a device that does not answer over UDP',
    },
    {
      ...overTcp,
      operation: 'RegisterSession',
      code: '0x0065',
      description: 'Opens a session, which ends with the connection',
    },
    {
      ...overTcp,
      operation: 'GetAttributesAll',
      code: '0x006F/0x01',
      description: 'Reads the identity object, only if the answer to ListIdentity is incomplete',
    },
    {
      ...overTcp,
      operation: 'GetAttributeSingle',
      code: '0x006F/0x0E',
      description: 'Reads host name, IP settings and MAC address, and identities that cannot be read at once',
    },
    {
      ...overTcp,
      onlyIf: 'slots',
      operation: 'GetAttributesAllOfModule',
      code: '0x006F/0x52/0x01',
      description: 'Reads the identity object of the module in a slot, only with the option slots',
    },
    {
      ...overTcp,
      onlyIf: 'slots',
      operation: 'GetAttributeSingleOfModule',
      code: '0x006F/0x52/0x0E',
      description: 'Reads one attribute of the identity of a module that cannot be read at once',
    },
  ],
  filters: rangeFilters,
  options: [
    {
      key: 'ports',
      type: 'text',
      default: '44818',
      description: 'UDP and TCP ports such as 44818 or 44818,44820-44822',
    },
    {
      key: 'udp',
      type: 'boolean',
      default: true,
      description: 'Send ListIdentity as a UDP datagram, and again if there is no answer',
    },
    {
      key: 'tcp',
      type: 'boolean',
      default: true,
      description: 'Connect over TCP to addresses that do not answer over UDP, and to devices to read more data',
    },
    {
      key: 'details',
      type: 'boolean',
      default: true,
      description:
        'Connect to each found device over TCP, and read its host name, IP settings and MAC address. Has no effect without tcp',
    },
    {
      key: 'slots',
      type: 'text',
      default: '',
      description: 'Slots of the backplane whose modules are read: 0 to 63, such as 0-16. Empty: none. Needs tcp',
    },
    {
      key: 'timeout_ms',
      type: 'integer',
      default: 900,
      description:
        'Maximum time for a connection and for an answer: 50 to 30000 milliseconds. A connection is tried again every 900 milliseconds',
    },
    {
      key: 'device_seconds',
      type: 'integer',
      default: 60,
      description: 'Maximum time to read one device after its first answer: 1 to 3600 seconds',
    },
    { key: 'parallel', type: 'integer', default: 64, description: 'Addresses that are scanned at once: 1 to 256' },
    interfaceOption,
  ],
}
