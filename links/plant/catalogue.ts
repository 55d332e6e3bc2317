/** This file contains the products, sites and areas of simulated plants. The vendors do not exist. */

export type Product = {
  vendor: string
  article: string
  name: string
  family: string
  hardware: readonly [string, ...string[]]
  /** The firmware versions, oldest first. */
  firmware: readonly [string, ...string[]]
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

export type Area = { name: string; code: string }

/** The areas of a site. The code of an area is part of the names of its assets. */
export const areas: readonly [Area, ...Area[]] = [
  { name: 'press shop', code: 'PRESS' },
  { name: 'body shop', code: 'BODY' },
  { name: 'paint shop', code: 'PAINT' },
  { name: 'assembly', code: 'ASSY' },
  { name: 'battery', code: 'BATT' },
  { name: 'machining', code: 'MACH' },
  { name: 'packaging', code: 'PACK' },
  { name: 'utilities', code: 'UTIL' },
]

export const catalogue = {
  controller: [
    {
      vendor: 'Kestrel Controls',
      article: 'KC 1515-2',
      name: 'Kestrel 1515',
      family: 'Kestrel 1500',
      hardware: ['2', '3', '4'],
      firmware: ['2.6.1', '2.8.3', '2.9.4', '3.0.1', '3.1.0'],
    },
    {
      vendor: 'Kestrel Controls',
      article: 'KC 1518-4',
      name: 'Kestrel 1518 redundant',
      family: 'Kestrel 1500',
      hardware: ['1', '2'],
      firmware: ['2.9.4', '3.0.1', '3.1.0'],
    },
    {
      vendor: 'Nordwerk',
      article: 'NW-PLC-80',
      name: 'Modulus 80',
      family: 'Modulus',
      hardware: ['A', 'B'],
      firmware: ['20.11', '21.04', '33.02', '35.00'],
    },
  ],
  module: [
    {
      vendor: 'Kestrel Controls',
      article: 'KC 521-DI32',
      name: 'Digital input 32x24 V',
      family: 'Kestrel I/O',
      hardware: ['1', '2'],
      firmware: ['1.0.0', '1.1.0', '1.2.1'],
    },
    {
      vendor: 'Kestrel Controls',
      article: 'KC 522-DQ32',
      name: 'Digital output 32x24 V',
      family: 'Kestrel I/O',
      hardware: ['1', '2'],
      firmware: ['1.0.0', '1.1.2'],
    },
    {
      vendor: 'Kestrel Controls',
      article: 'KC 531-AI8',
      name: 'Analog input 8xU/I',
      family: 'Kestrel I/O',
      hardware: ['1'],
      firmware: ['1.0.0', '1.3.0'],
    },
    {
      vendor: 'Nordwerk',
      article: 'NW-AO-4',
      name: 'Analog output 4x',
      family: 'Modulus I/O',
      hardware: ['B', 'C'],
      firmware: ['4.2', '4.5'],
    },
  ],
  drive: [
    {
      vendor: 'Aurelia Drives',
      article: 'AD-G120-75',
      name: 'Aurelia 7.5 kW',
      family: 'Aurelia G',
      hardware: ['1', '2'],
      firmware: ['4.7.10', '4.7.13', '5.1.0', '5.2.2'],
    },
    {
      vendor: 'Hallstein',
      article: 'HS-880-22',
      name: 'Hallstein 22 kW',
      family: 'HS 880',
      hardware: ['3', '4'],
      firmware: ['3.30', '3.41', '3.51'],
    },
  ],
  switch: [
    {
      vendor: 'Meridian Networks',
      article: 'MN-XC216',
      name: 'Managed switch 16 ports',
      family: 'XC 200',
      hardware: ['4', '5'],
      firmware: ['4.1', '4.3', '4.4.1', '4.5'],
    },
    {
      vendor: 'Meridian Networks',
      article: 'MN-XC208',
      name: 'Managed switch 8 ports',
      family: 'XC 200',
      hardware: ['4'],
      firmware: ['4.3', '4.5'],
    },
  ],
  sensor: [
    {
      vendor: 'Sensorik Bodan',
      article: 'SB-WT24',
      name: 'Photoelectric sensor',
      family: 'WT',
      hardware: ['1', '2'],
      firmware: ['1.4', '1.6', '2.0'],
    },
    {
      vendor: 'Sensorik Bodan',
      article: 'SB-PT100-L',
      name: 'Temperature transmitter',
      family: 'PT',
      hardware: ['1'],
      firmware: ['2.1', '2.2'],
    },
    {
      vendor: 'Lumen Vision',
      article: 'LV-2M',
      name: 'Camera 2 MP',
      family: 'LV',
      hardware: ['R1', 'R2'],
      firmware: ['6.1.0', '6.4.2', '7.0.0'],
    },
    {
      vendor: 'Hallstein',
      article: 'HS-FLOW-50',
      name: 'Flow meter DN50',
      family: 'HS Flow',
      hardware: ['2'],
      firmware: ['3.0', '3.2'],
    },
  ],
  panel: [
    {
      vendor: 'Kestrel Controls',
      article: 'KC TP1200',
      name: 'Touch panel 12 inch',
      family: 'Kestrel Panel',
      hardware: ['3'],
      firmware: ['16.0.4', '17.0.0', '18.0.2'],
    },
  ],
  gateway: [
    {
      vendor: 'Millwright',
      article: 'MW-GW',
      name: 'Asset gateway',
      family: 'Gateway',
      hardware: ['1'],
      firmware: ['1.0.0', '1.1.0'],
    },
  ],
  software: [
    {
      vendor: 'Kestrel Controls',
      article: 'KC-RT',
      name: 'Line visualisation runtime',
      family: 'Runtime',
      hardware: ['1'],
      firmware: ['16.0', '17.0', '18.0'],
    },
    {
      vendor: 'Opal Software',
      article: 'OS-HIST',
      name: 'Process historian',
      family: 'Opal',
      hardware: ['1'],
      firmware: ['8.1', '8.2', '9.0'],
    },
    {
      vendor: 'Opal Software',
      article: 'OS-RCP',
      name: 'Recipe manager',
      family: 'Opal',
      hardware: ['1'],
      firmware: ['3.4', '3.5'],
    },
  ],
} as const satisfies Record<string, readonly [Product, ...Product[]]>

export type Kind = keyof typeof catalogue

/** The prefix of the asset name for each kind of asset. A number follows the prefix. */
export const tags = {
  gateway: 'GW',
  switch: 'SW',
  controller: 'PLC',
  module: 'IO',
  drive: 'DRV',
  sensor: 'SEN',
  panel: 'HMI',
  software: 'APP',
} as const satisfies Record<Kind, string>
