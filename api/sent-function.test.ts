import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plannedFunctions, type SentFunction } from './sent-function.ts'

const sends: SentFunction[] = [
  {
    protocol: 'x',
    operation: 'Connect',
    transport: 'tcp',
    ports: [502],
    portsOption: 'ports',
    description: 'Connects',
  },
  { protocol: 'x', operation: 'Echo', code: 'type 8', transport: 'icmp', onlyIf: 'icmp', description: 'Pings' },
  { protocol: 'x', operation: 'Register', transport: 'udp', ports: [5], onlyIf: 'server', description: 'Registers' },
  { protocol: 'x', operation: 'Empty', transport: 'udp', ports: [9], description: 'Sends nothing' },
]
const options = [
  { key: 'ports', defaultValue: '502' },
  { key: 'icmp', defaultValue: false },
  { key: 'server', defaultValue: '' },
]
const planned = (values: Record<string, unknown>) =>
  plannedFunctions(sends, options, values).map(({ operation, ports }) => `${operation} ${ports}`.trim())

test('plannedFunctions returns the ports of the options, and only functions whose option is true or not empty', () => {
  assert.deepEqual(planned({}), ['Connect 502', 'Empty 9'])
  assert.deepEqual(planned({ ports: '80, 443', icmp: 'true' }), ['Connect 80, 443', 'Echo', 'Empty 9'])
  assert.deepEqual(planned({ icmp: true }), ['Connect 502', 'Echo', 'Empty 9'])
  assert.deepEqual(planned({ icmp: 'false', server: '10.0.0.2' }), ['Connect 502', 'Register 5', 'Empty 9'])
})

test('plannedFunctions leaves out a function if its list of ports is empty', () => {
  assert.deepEqual(planned({ ports: '', icmp: true }), ['Echo', 'Empty 9'])
})
