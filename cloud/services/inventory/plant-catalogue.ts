/** What a made-up plant is made of. The makers are made up too. */

export type Product = {
  maker: string
  id: string
  name: string
  family: string
  /** Oldest first: most run one of the newer ones. */
  firmware: readonly string[]
}

export const sites = [
  'Aarhus',
  'Bilbao',
  'Brno',
  'Cork',
  'Dresden',
  'Eindhoven',
  'Ghent',
  'Graz',
  'Katowice',
  'Linz',
  'Lyon',
  'Malmo',
  'Monterrey',
  'Nagoya',
  'Porto',
  'Pune',
  'Sendai',
  'Tampere',
  'Torino',
  'Toledo',
  'Trieste',
  'Ulm',
  'Utrecht',
  'Vigo',
] as const

export const areas = [
  'press shop',
  'body shop',
  'paint shop',
  'assembly',
  'battery',
  'machining',
  'packaging',
  'utilities',
] as const

export const catalogue = {
  controller: [
    {
      maker: 'Kestrel Controls',
      id: 'KC 1515-2',
      name: 'Kestrel 1515',
      family: 'Kestrel 1500',
      firmware: ['2.6.1', '2.8.3', '2.9.4', '3.0.1', '3.1.0'],
    },
    {
      maker: 'Kestrel Controls',
      id: 'KC 1518-4',
      name: 'Kestrel 1518 redundant',
      family: 'Kestrel 1500',
      firmware: ['2.9.4', '3.0.1', '3.1.0'],
    },
    {
      maker: 'Nordwerk',
      id: 'NW-PLC-80',
      name: 'Modulus 80',
      family: 'Modulus',
      firmware: ['20.11', '21.04', '33.02', '35.00'],
    },
  ],
  module: [
    {
      maker: 'Kestrel Controls',
      id: 'KC 521-DI32',
      name: 'Digital input 32x24 V',
      family: 'Kestrel I/O',
      firmware: ['1.0.0', '1.1.0', '1.2.1'],
    },
    {
      maker: 'Kestrel Controls',
      id: 'KC 522-DQ32',
      name: 'Digital output 32x24 V',
      family: 'Kestrel I/O',
      firmware: ['1.0.0', '1.1.2'],
    },
    {
      maker: 'Kestrel Controls',
      id: 'KC 531-AI8',
      name: 'Analog input 8xU/I',
      family: 'Kestrel I/O',
      firmware: ['1.0.0', '1.3.0'],
    },
    {
      maker: 'Nordwerk',
      id: 'NW-AO-4',
      name: 'Analog output 4x',
      family: 'Modulus I/O',
      firmware: ['4.2', '4.5'],
    },
  ],
  drive: [
    {
      maker: 'Aurelia Drives',
      id: 'AD-G120-75',
      name: 'Aurelia 7.5 kW',
      family: 'Aurelia G',
      firmware: ['4.7.10', '4.7.13', '5.1.0', '5.2.2'],
    },
    {
      maker: 'Hallstein',
      id: 'HS-880-22',
      name: 'Hallstein 22 kW',
      family: 'HS 880',
      firmware: ['3.30', '3.41', '3.51'],
    },
  ],
  switch: [
    {
      maker: 'Meridian Networks',
      id: 'MN-XC216',
      name: 'Managed switch 16 ports',
      family: 'XC 200',
      firmware: ['4.1', '4.3', '4.4.1', '4.5'],
    },
    {
      maker: 'Meridian Networks',
      id: 'MN-XC208',
      name: 'Managed switch 8 ports',
      family: 'XC 200',
      firmware: ['4.3', '4.5'],
    },
  ],
  sensor: [
    {
      maker: 'Sensorik Bodan',
      id: 'SB-WT24',
      name: 'Photoelectric sensor',
      family: 'WT',
      firmware: ['1.4', '1.6', '2.0'],
    },
    {
      maker: 'Sensorik Bodan',
      id: 'SB-PT100-L',
      name: 'Temperature transmitter',
      family: 'PT',
      firmware: ['2.1', '2.2'],
    },
    { maker: 'Lumen Vision', id: 'LV-2M', name: 'Camera 2 MP', family: 'LV', firmware: ['6.1.0', '6.4.2', '7.0.0'] },
    { maker: 'Hallstein', id: 'HS-FLOW-50', name: 'Flow meter DN50', family: 'HS Flow', firmware: ['3.0', '3.2'] },
  ],
  panel: [
    {
      maker: 'Kestrel Controls',
      id: 'KC TP1200',
      name: 'Touch panel 12 inch',
      family: 'Kestrel Panel',
      firmware: ['16.0.4', '17.0.0', '18.0.2'],
    },
  ],
  gateway: [
    { maker: 'Millwright', id: 'MW-GW', name: 'Asset gateway', family: 'Gateway', firmware: ['1.0.0', '1.1.0'] },
  ],
  software: [
    {
      maker: 'Kestrel Controls',
      id: 'KC-RT',
      name: 'Line visualisation runtime',
      family: 'Runtime',
      firmware: ['16.0', '17.0', '18.0'],
    },
    {
      maker: 'Opal Software',
      id: 'OS-HIST',
      name: 'Process historian',
      family: 'Opal',
      firmware: ['8.1', '8.2', '9.0'],
    },
    { maker: 'Opal Software', id: 'OS-RCP', name: 'Recipe manager', family: 'Opal', firmware: ['3.4', '3.5'] },
  ],
} satisfies Record<string, readonly Product[]>

export type Kind = keyof typeof catalogue

/** What stands in a cell, its head first. */
export const cell: readonly { kind: Kind; count: number }[] = [
  { kind: 'switch', count: 1 },
  { kind: 'controller', count: 1 },
  { kind: 'module', count: 5 },
  { kind: 'drive', count: 3 },
  { kind: 'sensor', count: 7 },
  { kind: 'panel', count: 1 },
  { kind: 'software', count: 2 },
]
