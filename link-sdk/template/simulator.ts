import type { Device } from './device.ts'

/** Devices that are always there, for tests and for trying things out. */
export async function* simulatedDevices(): AsyncGenerator<Device> {
  const shared = { vendor: 'Example', article: 'EX-100', firmware: '1.0.0' }
  yield { ...shared, address: '10.0.0.11', mac: '02:00:5E:00:00:11', name: 'Oven 1', serial: 'EX000011' }
  yield { ...shared, address: '10.0.0.12', mac: '02:00:5E:00:00:12', name: 'Oven 2', serial: 'EX000012' }
}
