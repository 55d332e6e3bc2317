import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { productDataOf } from '../system-description.ts'
import { factsOf, modulesOf } from './asset.ts'
import type { Entity, Interface, Neighbours, Reading } from './device.ts'
import { enterpriseOf, manufacturerOf } from './enterprises.ts'
import { enterpriseOfEngine, parseMessageHeader } from './message-header.ts'
import { ipOfIndex, macOf, macOfIndex, maskOf, textOf } from './mib-value.ts'
import { compareOids, indexBelow, isOid } from './oid.ts'
import { localKey } from './simulator-security.ts'
import { connectionsOf } from './topology.ts'

const port = (index: number, macAddress?: string): Interface => ({ index, name: `port${index}`, macAddress })
const reading = (more: Partial<Reading>): Reading => ({
  system: {},
  interfaces: [],
  addresses: [],
  entities: [],
  neighbours: undefined,
  ...more,
})
const neighbours = (more: Partial<Neighbours>): Neighbours => ({
  lldp: [],
  lldpPorts: new Map(),
  bridgePorts: new Map(),
  learned: [],
  ...more,
})
const macsOf = (more: Partial<Neighbours>, interfaces: Interface[] = []) =>
  connectionsOf(reading({ interfaces, neighbours: neighbours(more) })).map(({ macAddresses }) => macAddresses)

describe('connections', () => {
  const [a, b, c] = ['00:0E:8C:00:00:0A', '00:0E:8C:00:00:0B', '00:0E:8C:00:00:0C'] as const

  test('contain LLDP neighbours with the MAC addresses of their chassis and port', () => {
    const lldp = [{ localPort: 1, chassisMac: a, portMac: b }, { localPort: 2, portMac: c }, { localPort: 3 }]
    assert.deepEqual(macsOf({ lldp }), [[a, b], [c]])
  })

  test('contain a neighbour with two cables once', () => {
    const lldp = [
      { localPort: 1, chassisMac: a },
      { localPort: 2, chassisMac: a },
    ]
    assert.deepEqual(macsOf({ lldp }), [[a]])
  })

  test('contain an address of the bridge table only if it is alone at its port', () => {
    const learned = [
      { macAddress: a, port: 1 },
      { macAddress: b, port: 2 },
      { macAddress: c, port: 2 },
    ]
    assert.deepEqual(macsOf({ learned }), [[a]])
  })

  test('contain an address that the bridge learned in two VLANs at one port', () => {
    const learned = [
      { macAddress: a, port: 1 },
      { macAddress: a, port: 1 },
    ]
    assert.deepEqual(macsOf({ learned }), [[a]])
  })

  test('do not contain the device itself', () => {
    const lldp = [{ localPort: 1, chassisMac: a }]
    const learned = [{ macAddress: b, port: 2 }]
    assert.deepEqual(macsOf({ lldp, learned, bridgeMac: b }, [port(1, a)]), [])
    assert.deepEqual(macsOf({ lldp, chassisMac: a }), [])
  })

  const uplinks: [string, Partial<Neighbours>, Interface[]][] = [
    ['the number of the port of the bridge', {}, []],
    ['the index of the interface', { bridgePorts: new Map([[7, 1]]), learned: [{ macAddress: b, port: 7 }] }, []],
    [
      'the name of the interface',
      {
        lldpPorts: new Map([[1, { name: 'port33' }]]),
        bridgePorts: new Map([[7, 33]]),
        learned: [{ macAddress: b, port: 7 }],
      },
      [port(33)],
    ],
    [
      'the MAC address of the interface',
      {
        lldpPorts: new Map([[1, { macAddress: c }]]),
        bridgePorts: new Map([[7, 33]]),
        learned: [{ macAddress: b, port: 7 }],
      },
      [port(33, c)],
    ],
  ]
  for (const [what, more, interfaces] of uplinks) {
    test(`leave out addresses at a port with an LLDP neighbour, which is found by ${what}`, () => {
      const found = { lldp: [{ localPort: 1, chassisMac: a }], learned: [{ macAddress: b, port: 1 }], ...more }
      assert.deepEqual(macsOf(found, interfaces), [[a]])
    })
  }
})

describe('identifiers', () => {
  const ipAddress = '10.0.0.7'
  const macs = (more: Partial<Reading>, arpMac?: string) => {
    const { macAddress, otherMacAddresses } = factsOf(reading(more), { ipAddress, arpMac })
    return [macAddress, ...(otherMacAddresses ?? [])].filter((mac) => mac !== undefined)
  }
  const interfaces = [port(1, '00:0E:8C:00:00:09'), port(2, '00:0E:8C:00:00:02'), port(3, '02:42:AC:11:00:01')]

  test('contain the MAC address of the interface that has the scanned address', () => {
    const addresses = [{ ipAddress, interfaceIndex: 1 }]
    assert.deepEqual(macs({ interfaces, addresses }), ['00:0E:8C:00:00:09'])
  })

  test('contain the lowest MAC address if no interface has an address', () => {
    assert.deepEqual(macs({ interfaces }), ['00:0E:8C:00:00:02'])
  })

  test('contain the addresses in the ARP table, in LLDP and of other interfaces, without those of containers', () => {
    const addresses = [
      { ipAddress: '172.17.0.1', interfaceIndex: 3 },
      { ipAddress: '10.1.0.1', interfaceIndex: 2 },
    ]
    const known = neighbours({ chassisMac: '00:0E:8C:00:00:0C', bridgeMac: '00:0E:8C:00:00:0B' })
    assert.deepEqual(macs({ interfaces, addresses, neighbours: known }, '00:0E:8C:00:00:0A'), [
      '00:0E:8C:00:00:0A',
      '00:0E:8C:00:00:0C',
      '00:0E:8C:00:00:0B',
      '00:0E:8C:00:00:02',
    ])
  })

  test('name the manufacturer of the enterprise number before that of the ENTITY-MIB', () => {
    const chassis = { index: 1, class: 3, containedIn: 0, serialNumber: 'S1', manufacturer: 'Siemens AG' }
    const manufacturer = (objectId: string) =>
      factsOf(reading({ system: { objectId }, entities: [chassis] }), { ipAddress }).manufacturer
    assert.equal(manufacturer('1.3.6.1.4.1.8691.7.1'), 'Moxa')
    assert.equal(manufacturer('1.3.6.1.4.1.8072.3.2.10'), 'Siemens')
  })
})

describe('modules', () => {
  const entity = (index: number, more: Partial<Entity>): Entity => ({ index, class: 9, containedIn: 1, ...more })
  const device = { manufacturer: 'Cisco', serialNumber: 'S1', macAddress: '00:0E:8C:00:00:01' }
  const serials = (entities: Entity[]) =>
    modulesOf(device, reading({ entities })).map(
      ({ asset }) => (asset.product_instance_information as { serial_number: string }).serial_number,
    )

  test('are the entities with a product and their own serial number', () => {
    const entities = [
      entity(1, { class: 3, containedIn: 0, serialNumber: 'S1' }),
      entity(2, { model: 'M', serialNumber: 'S2' }),
      entity(3, { model: 'M', serialNumber: 'S1' }),
      entity(4, { model: 'M', serialNumber: 'S2' }),
      entity(5, { model: 'M' }),
      entity(6, { model: 'M', class: 6, serialNumber: 'S6' }),
      entity(7, { model: 'M', class: 8, serialNumber: 'S7' }),
      entity(8, { model: 'M', class: 3, serialNumber: 'S8' }),
      entity(9, { serialNumber: 'S9' }),
    ]
    assert.deepEqual(serials(entities), ['S2', 'S6', 'S8'])
  })

  test('have the manufacturer of the device unless they report another one', () => {
    const entities = [
      entity(1, { class: 3, containedIn: 0, serialNumber: 'S1', manufacturer: 'Cisco Systems, Inc.' }),
      entity(2, { model: 'M', serialNumber: 'S2', manufacturer: 'Cisco Systems, Inc.' }),
      entity(3, { description: 'SFP', serialNumber: 'S3', manufacturer: 'FINISAR CORP.' }),
    ]
    const vendors = modulesOf(device, reading({ entities })).map(({ asset }) =>
      (asset.asset_identifiers as { vendor: string }[]).map(({ vendor }) => vendor),
    )
    assert.deepEqual(vendors, [['Cisco'], ['FINISAR CORP.']])
  })
})

describe('texts of sysDescr', () => {
  const texts: [number, string, Record<string, string | undefined>][] = [
    [
      4196,
      'Siemens, SIMATIC S7, CPU-1200, 6ES7 214-1AG40-0XB0, HW: 6, FW: V.4.2.3, S C-K4DE75732019',
      {
        family: 'SIMATIC S7',
        product: 'CPU-1200',
        orderNumber: '6ES7 214-1AG40-0XB0',
        hardware: '6',
        firmware: 'V.4.2.3',
        serial: 'C-K4DE75732019',
      },
    ],
    [
      9,
      'Cisco IOS Software, IE2000 Software (IE2000-UNIVERSALK9-M), Version 15.2(4)EA5, RELEASE SOFTWARE (fc2)',
      { product: 'IE2000', firmware: '15.2(4)EA5' },
    ],
    [
      11,
      'HP J9773A 2530-24G-PoEP Switch, revision YA.16.02.0012, ROM YA.15.19',
      { orderNumber: 'J9773A', product: '2530-24G-PoEP Switch', firmware: 'YA.16.02.0012' },
    ],
    [
      2636,
      'Juniper Networks, Inc. ex2200-24t-4g Ethernet Switch, kernel JUNOS 12.3R12.4, Build date: 2016-01-20',
      { product: 'ex2200-24t-4g', firmware: '12.3R12.4' },
    ],
    [
      318,
      'APC Web/SNMP Management Card (MB:v4.1.0 PF:v6.8.2 PN:aos.bin AF1:v6.8.0 MN:AP9631 HR:05 SN: ZA1234005678 MD:01)',
      {
        product: 'Web/SNMP Management Card',
        firmware: '6.8.2',
        orderNumber: 'AP9631',
        hardware: '05',
        serial: 'ZA1234005678',
      },
    ],
    [318, `APC x (${'PF:MN:'.repeat(170)}`, {}],
    [14988, 'RouterOS CRS326-24G-2S+', { product: 'CRS326-24G-2S+' }],
    [8072, 'Linux gateway 6.1.0-18-amd64 #1 SMP', {}],
    [4329, 'Siemens HVAC controller', {}],
  ]
  for (const [enterprise, text, expected] of texts) {
    test(`are read: ${text.slice(0, 40)}`, () => assert.deepEqual(productDataOf(enterprise, text), expected))
  }
})

describe('values', () => {
  test('of MAC addresses are only those of one interface', () => {
    assert.equal(macOf(Buffer.from('001b1b000001', 'hex')), '00:1B:1B:00:00:01')
    assert.equal(macOfIndex('1.0.27.27.0.0.1'), '00:1B:1B:00:00:01')
    const unusable = ['000000000000', 'ffffffffffff', '01005e000001', '00005e000101', '00000c07ac01', '001b1b']
    for (const bytes of unusable) assert.equal(macOf(Buffer.from(bytes, 'hex')), undefined)
    assert.equal(macOfIndex('1.0.27.27.0.0.256'), undefined)
  })

  test('of texts have no control characters', () => {
    assert.equal(textOf(Buffer.from('Hall 3\r\n\0Cell\u00077 \0')), 'Hall 3 Cell 7')
    assert.equal(textOf(Buffer.from('Schaltschrank süd', 'latin1')), 'Schaltschrank süd')
    assert.equal(textOf(Buffer.from('Hall\u202e3\u2066')), 'Hall 3')
    assert.equal(textOf(Buffer.from('\0\0')), undefined)
    assert.equal(textOf(Buffer.alloc(60_000, 'x'))?.length, 1_024)
  })

  test('of addresses and masks are checked', () => {
    assert.equal(ipOfIndex('10.0.0.7'), '10.0.0.7')
    assert.equal(ipOfIndex('10.0.0.700'), undefined)
    assert.equal(maskOf('255.255.240.0'), '255.255.240.0')
    for (const mask of ['255.0.255.0', '0.0.0.0', '300.0.0.0', '255.255']) assert.equal(maskOf(mask), undefined)
  })

  test('of OIDs are ordered by number', () => {
    assert.ok(compareOids('1.3.6.10', '1.3.6.9') > 0)
    assert.ok(compareOids('1.3.6', '1.3.6.0') < 0)
    assert.equal(compareOids('1.3.6', '1.3.6'), 0)
    assert.equal(indexBelow('1.3.6', '1.3.6.7.1'), '7.1')
    assert.equal(indexBelow('1.3.6', '1.3.60.1'), undefined)
    for (const text of ['', '1..3', '0.NaN', '1.-3', `1${'.1'.repeat(128)}`]) assert.equal(isOid(text), false)
  })

  test('of enterprises name manufacturers', () => {
    assert.equal(manufacturerOf(enterpriseOf('1.3.6.1.4.1.248.14.10.1')), 'Hirschmann')
    assert.equal(manufacturerOf(enterpriseOf('1.3.6.1.4.1.8072.3.2.10')), undefined)
    assert.equal(enterpriseOf('0.0'), undefined)
  })
})

describe('vectors of specifications', () => {
  // RFC 3414, sections A.3.1 and A.3.2: the password "maplesyrup" for the engine 2.
  const engineId = Buffer.from('000000000000000000000002', 'hex')
  test('the keys of RFC 3414 are derived from passwords', () => {
    assert.equal(localKey('maplesyrup', engineId, 'md5').toString('hex'), '526f5eed9fcce26f8964c2930787d82b')
    assert.equal(localKey('maplesyrup', engineId, 'sha1').toString('hex'), '6695febc9288e36282235fc7151f128497b38f3f')
  })

  // RFC 3411, section 5: an engine id starts with the enterprise number, whose first bit is set in the current format.
  test('the enterprise number is read from an engine id', () => {
    assert.equal(enterpriseOfEngine(Buffer.from('800002b804616263', 'hex')), 696)
    assert.equal(enterpriseOfEngine(Buffer.from('0102', 'hex')), undefined)
  })

  // RFC 3412, section 6, and RFC 3414, section 2.4: a report in plain text, encoded by hand.
  test('the header of a message is read', () => {
    const report = Buffer.from(
      '305a020103300f02020102020300ffe3040100020103041830160408800002b804616263020101020164040004000400' +
        '302a0408800002b8046162630400a81c0201000201000201003011300f060a2b060106030f01010400410101',
      'hex',
    )
    assert.deepEqual(parseMessageHeader(report), {
      messageId: 258,
      isAuthenticated: false,
      isEncrypted: false,
      engineId: Buffer.from('800002b804616263', 'hex'),
      pduType: 0xa8,
    })
    assert.equal(parseMessageHeader(report.subarray(0, -1)), undefined)
  })
})
