import type { Device } from './device.ts'

/**
 * This file contains the same six devices as the reference link of the protocol, so that both links can be compared.
 */

export type ReferenceDevice = Device &
  Required<Pick<Device, 'network'>> & { nic: 'eth0' | 'eth1'; subDevices: readonly Device[] }

type Row = { name: string; nic: 'eth0' | 'eth1'; line: 0 | 1; place: 0 | 1 | 2 }

const rows: readonly Row[] = [
  { name: 'A0', nic: 'eth0', line: 0, place: 0 },
  { name: 'A1', nic: 'eth0', line: 0, place: 1 },
  { name: 'A2', nic: 'eth0', line: 0, place: 2 },
  { name: 'B0', nic: 'eth1', line: 1, place: 0 },
  { name: 'B1', nic: 'eth1', line: 1, place: 1 },
  { name: 'B2', nic: 'eth1', line: 1, place: 2 },
]

export const referenceDevices: readonly ReferenceDevice[] = rows.map(({ name, nic, line, place }) => {
  const mac = `00:16:3e:0${line}:0${place}:00`
  const device = nameplate({
    name,
    article: 'AN0123456789',
    serial: `SN12345${line === 0 ? '00' : '01'}0${place}`,
    firmware: '1.0.0',
  })
  return {
    ...device,
    nic,
    network: { mac, ip: `192.168.${line}.${10 + place}`, mask: '255.255.255.0', port: 'enp0' },
    needs: { read: place === 2, admin: place >= 1 },
    subDevices: name === 'B0' ? subDevices(mac) : [],
  }
})

function subDevices(parentMac: string): Device[] {
  return [0, 1, 2].map((slot) => ({
    ...nameplate({ name: `B0-${slot}`, article: 'AN9876543210', serial: `SN1234501000${slot}`, firmware: '1.2.3' }),
    network: { mac: `00:16:3e:01:00:1${slot}`, ip: `192.168.1.10${slot}`, mask: '255.255.255.0', port: 'enp0' },
    parent: { mac: parentMac, slot },
    needs: { read: false, admin: false },
  }))
}

type Nameplate = { name: string; article: string; serial: string; firmware: string }

function nameplate({ name, article, serial, firmware }: Nameplate) {
  return {
    name: `Simulated Device ${name}`,
    description: 'Simulated Device',
    vendor: 'Siemens AG',
    article,
    productName: '',
    family: 'Simulated Device',
    serial,
    hardware: '3',
    firmware,
    productLink: `https://industrial-assets.io/?1P=${article}&S=${serial}`,
  }
}
