/** What made-up devices are. Their makers are made up too. */

export type Product = {
  vendor: string
  article: string
  name: string
  family: string
  /** What comes before the number in a device's name. */
  tag: string
  hardware: readonly string[]
  /** Oldest first. */
  firmware: readonly [string, ...string[]]
}

export const controllers: readonly [Product, ...Product[]] = [
  {
    vendor: 'Aldermoor Automation',
    article: 'AM-C4200-2PN',
    name: 'Aldermoor C4200',
    family: 'C4000',
    tag: 'PLC',
    hardware: ['2', '3', '4'],
    firmware: ['2.8.3', '2.9.4', '3.0.1', '3.1.0', '3.1.2'],
  },
  {
    vendor: 'Brennick',
    article: 'BR 80.22-A',
    name: 'Brennick Logic 80',
    family: 'Logic 80',
    tag: 'PLC',
    hardware: ['A', 'B'],
    firmware: ['33.02', '34.10', '35.00', '35.01'],
  },
]

export const modules: readonly [Product, ...Product[]] = [
  {
    vendor: 'Aldermoor Automation',
    article: 'AM-DI32-24',
    name: 'Digital input 32 x 24 V',
    family: 'C4000 I/O',
    tag: 'DI',
    hardware: ['1', '2'],
    firmware: ['1.0.0', '1.1.0', '1.2.1'],
  },
  {
    vendor: 'Aldermoor Automation',
    article: 'AM-AQ8-HS',
    name: 'Analog output 8 channels, fast',
    family: 'C4000 I/O',
    tag: 'AQ',
    hardware: ['1'],
    firmware: ['2.0.1', '2.1.0'],
  },
  {
    vendor: 'Brennick',
    article: 'BR 81.04-F',
    name: 'Safety input 4 channels',
    family: 'Logic 80 safe',
    tag: 'FDI',
    hardware: ['B', 'C'],
    firmware: ['4.2', '4.3', '5.0'],
  },
]

export const fieldDevices: readonly [Product, ...Product[]] = [
  {
    vendor: 'Corvane Drives',
    article: 'CV-900-055',
    name: 'Corvane 900 5.5 kW',
    family: 'Corvane 900',
    tag: 'DRV',
    hardware: ['1', '2'],
    firmware: ['5.1.0', '5.2.2', '5.3.0', '6.0.0'],
  },
  {
    vendor: 'Dunholm Networks',
    article: 'DH-XS16-M',
    name: 'Managed switch, 16 ports',
    family: 'XS',
    tag: 'SW',
    hardware: ['4', '5'],
    firmware: ['04.03.00', '04.04.01', '05.00.00'],
  },
  {
    vendor: 'Esker Vision',
    article: 'EV-CAM-5M-GE',
    name: 'Inspection camera, 5 megapixels',
    family: 'EV',
    tag: 'CAM',
    hardware: ['R1', 'R2'],
    firmware: ['1.9.7', '2.0.0', '2.0.3'],
  },
  {
    vendor: 'Fennimore Panels',
    article: 'FP-1200-TFT',
    name: 'Operator panel, 12 inches',
    family: 'FP Comfort',
    tag: 'HMI',
    hardware: ['3'],
    firmware: ['16.0.4', '17.0.0', '17.0.1'],
  },
  {
    vendor: 'Garnet Robotics',
    article: 'GR-6-120',
    name: 'Six-axis robot, 120 kg',
    family: 'GR',
    tag: 'ROB',
    hardware: ['7', '8'],
    firmware: ['8.6.11', '8.7.0', '9.0.2'],
  },
]

export const halls = [
  'Press shop',
  'Body shop',
  'Paint shop',
  'Assembly',
  'Machining',
  'Packaging',
  'Utilities',
] as const
