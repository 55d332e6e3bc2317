import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { interfaceOption } from '@millwright/link-sdk/network/local-network.ts'
import { rangeFilters } from '@millwright/link-sdk/network/range.ts'

const place = { protocol: 's7', transport: 'tcp' as const, ports: [102], portsOption: 'ports' }

export const manifest: Manifest = {
  id: 'millwright.links.s7',
  name: 'S7',
  vendor: 'Millwright',
  version: '0.1.0',
  description: 'SIMATIC S7 controllers and compatible controllers, and the modules in their rack.',
  sends: [
    { ...place, operation: 'Connect', description: 'Opens a TCP connection' },
    {
      ...place,
      operation: 'ConnectTransport',
      code: '0xE0',
      description: 'Connects to the module in a rack and slot (COTP connection request)',
    },
    {
      ...place,
      operation: 'SetupCommunication',
      code: '0xF0',
      description: 'Negotiates the length of the messages',
    },
    {
      ...place,
      operation: 'ReadSystemStatusList',
      code: '0x44/0x01',
      description: 'Reads the identification of a module, and the operating mode of a CPU',
    },
  ],
  filters: rangeFilters,
  options: [
    { key: 'ports', type: 'text', default: '102', description: 'TCP ports such as 102 or 102,1102-1104' },
    { key: 'rack', type: 'integer', default: 0, description: 'Rack of the CPU and of the modules: 0 to 7' },
    {
      key: 'slots',
      type: 'text',
      default: '1,2,3,0',
      description:
        'Slots that are tried until a module answers, which is the CPU: 0 to 31. S7-1200 and S7-1500 have slot 1, S7-300 slot 2, S7-400 often slot 3',
    },
    {
      key: 'module_slots',
      type: 'text',
      default: '',
      description: 'Slots of further modules in the rack that are all requested, such as 4-11. Empty: none',
    },
    {
      key: 'connection_type',
      type: 'text',
      default: 'pg',
      description:
        'Connection type that the link uses: pg (programming device), op (operator panel) or basic (S7 basic communication)',
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
      description: 'Maximum time to read one device after it accepted the connection: 1 to 3600 seconds',
    },
    { key: 'parallel', type: 'integer', default: 64, description: 'Addresses that are scanned at once: 1 to 256' },
    interfaceOption,
  ],
}
