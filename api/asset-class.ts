/**
 * The class of an asset: what kind of equipment it is. Assets do not have a field for it, so it is derived from the type, the
 * product family and name, and from a tag at the end of the name such as `PLC01` or `PLC-010-1`. The console shows one icon for each class.
 */

export const assetClasses = [
  'gateway',
  'switch',
  'controller',
  'module',
  'drive',
  'sensor',
  'panel',
  'computer',
  'software',
  'other',
] as const
export type AssetClass = (typeof assetClasses)[number]

/** The words in a product family or product name that identify a class. The first class that matches applies. */
const productWords: readonly (readonly [AssetClass, RegExp])[] = [
  ['switch', /\b(switch|router|firewall|access point|scalance|hirschmann|stratix|media converter)\b/],
  ['panel', /\b(panel|hmi|operator terminal|display|panelview|comfort)\b/],
  [
    'module',
    /i\/o|\b(digital|analog|analogue) (input|output)\b|\b(module|modul|remote io|et ?200\w*|terminal block)\b/,
  ],
  ['drive', /\b(drive|inverter|servo|motor|frequency converter|sinamics|powerflex)\b|\d ?kw\b/],
  ['sensor', /sensor|\b(transmitter|camera|meter|scanner|encoder|detector|reader|gauge)\b/],
  ['controller', /\b(plc|controller|cpu|logix\w*|s7[- ]?\d{3,4}\w*|simatic s7)\b/],
  ['computer', /\b(ipc|industrial pc|server|workstation|computer)\b/],
]

/** The tags at the end of a name that identify a class, for example `AAR-L01-PLC01`. */
const classTags: Readonly<Record<string, AssetClass>> = {
  gw: 'gateway',
  sw: 'switch',
  rtr: 'switch',
  plc: 'controller',
  cpu: 'controller',
  io: 'module',
  drv: 'drive',
  vfd: 'drive',
  mot: 'drive',
  sen: 'sensor',
  cam: 'sensor',
  hmi: 'panel',
  ipc: 'computer',
  pc: 'computer',
  app: 'software',
}

/** The number of characters at the end of a name, without its last digits and separators, that can contain a tag. */
export const tagLength = 3

/** Returns the class of the tag at the end of a name. A tag of two letters must not follow another letter. */
function classByTag(name: string): AssetClass | undefined {
  const end = name.replace(/[-_. 0-9]+$/, '').slice(-tagLength)
  return classTags[end.toLowerCase().replace(/^[^a-z]+/, '')]
}

export type ClassifiedAsset = {
  type: string | null | undefined
  family?: string | null | undefined
  product?: string | null | undefined
  name?: string | null | undefined
}

export function assetClassOf({ type, family, product, name }: ClassifiedAsset): AssetClass {
  if (type === 'Gateway') return 'gateway'
  if (type === 'SoftwareArtifact') return 'software'
  const words = `${family ?? ''} ${product ?? ''}`.toLowerCase()
  const [byProduct] = productWords.find(([, pattern]) => pattern.test(words)) ?? []
  return byProduct ?? classByTag(name ?? '') ?? 'other'
}
