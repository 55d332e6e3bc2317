import type { Manifest } from '@millwright/link-sdk/manifest.ts'
import { interfaceOption } from '@millwright/link-sdk/network/local-network.ts'
import { rangeFilters } from '@millwright/link-sdk/network/range.ts'

export const manifest: Manifest = {
  id: 'millwright.links.modbus',
  name: 'Modbus',
  vendor: 'Millwright',
  version: '0.1.0',
  description: 'Devices that speak Modbus/TCP, and units behind Modbus gateways.',
  sends: [
    {
      protocol: 'modbus',
      operation: 'Connect',
      transport: 'tcp',
      ports: [502],
      portsOption: 'ports',
      description: 'Opens a TCP connection',
    },
    {
      protocol: 'modbus',
      operation: 'ReadDeviceIdentification',
      code: '0x2B/0x0E',
      transport: 'tcp',
      ports: [502],
      portsOption: 'ports',
      description: 'Reads the nameplate: manufacturer, product code, revision and names',
    },
    {
      protocol: 'modbus',
      operation: 'ReportServerId',
      code: '0x11',
      transport: 'tcp',
      ports: [502],
      portsOption: 'ports',
      onlyIf: 'report_server_id',
      description: 'Reads the description of a device without a nameplate, only with the option report_server_id',
    },
  ],
  filters: rangeFilters,
  options: [
    { key: 'ports', type: 'text', default: '502', description: 'TCP ports such as 502 or 502,5020-5022' },
    {
      key: 'unit_ids',
      type: 'text',
      default: '255,1',
      description:
        'Unit ids that are tried until the device answers: 0 to 255. 255 is the id of a device with its own IP address',
    },
    {
      key: 'gateway_units',
      type: 'text',
      default: '',
      description: 'Unit ids behind Modbus gateways that are all requested, such as 1-32. Empty for none',
    },
    {
      key: 'category',
      type: 'text',
      default: 'extended',
      description: 'How much of the nameplate is read at most: basic, regular or extended',
    },
    {
      key: 'report_server_id',
      type: 'boolean',
      default: false,
      description:
        'Send function 0x11 to devices without a nameplate. The specification defines it for serial lines only',
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
