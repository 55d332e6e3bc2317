import type { SemanticClassifier } from '@millwright/api/proto/generated/identifiers_pb.js'

/** This file determines the path of a value in an asset from the value's classifiers. */

export type Step = { name: string; index?: number }

export type Place = {
  readonly path: readonly Step[]
  /** The name of the class at the end of the schema address. */
  readonly className?: string
}

/** The maximum depth of a path in an asset. */
const maxDepth = 16

const serial = ['product_instance_information', 'serial_number']
const product = (name: string) => ['product_instance_information', 'manufacturer_product', name]

/** The path in an asset for each dictionary entry (IRDI). The version after the second `#` of an IRDI is ignored. */
const irdis: Readonly<Record<string, readonly string[]>> = {
  '0173-1#02-AAM556': serial,
  '0112/2///61987#ABA951': serial,
  '0173-1#02-AAO057': product('product_id'),
  '0112/2///61987#ABA300': product('product_id'),
  '0173-1#02-AAN270': product('product_version'),
  '0112/2///61987#ABA926': product('product_version'),
  '0173-1#02-AAU731': product('product_family'),
  '0112/2///61987#ABP464': product('product_family'),
  '0173-1#02-ABH173': product('product_link'),
  '0112/2///61987#ABN590': product('product_link'),
  '0112/2///61987#ABA565': [...product('manufacturer'), 'name'],
}

const knownHosts = /^https?:\/\/(schema\.)?industrial-assets\.io\//i

/**
 * Returns the place that a list of classifiers determines. An address of a known schema has priority, then any other
 * address, then a dictionary entry. Returns undefined if no classifier is usable.
 */
export function placeOf(classifiers: readonly SemanticClassifier[]): Place | undefined {
  const addresses = classifiers.filter(({ type, value }) => type.toUpperCase() === 'URI' && value.includes('#'))
  const address = addresses.find(({ value }) => knownHosts.test(value)) ?? addresses[0]
  if (address !== undefined) return placeAt(address.value)
  for (const { type, value } of classifiers) {
    const path = type.toUpperCase() === 'IRDI' ? irdis[value.trim().replace(/#\d+$/, '')] : undefined
    if (path !== undefined) return { path: path.map((name) => ({ name })) }
  }
  return undefined
}

function placeAt(address: string): Place | undefined {
  const [base = '', ...fragment] = address.split('#')
  const path = pathOf(fragment.join('#'))
  const className = base.replace(/\/$/, '').split('/').at(-1)
  if (path.length === 0 || path.length > maxDepth) return undefined
  return className === undefined || className === '' ? { path } : { path, className }
}

function pathOf(fragment: string): Step[] {
  return decoded(fragment)
    .split('/')
    .filter((part) => part !== '')
    .map(stepOf)
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/** Parses a step such as `name[3]`. If there are several brackets, the last one is the index. */
function stepOf(part: string): Step {
  const [, name, index] = /^(.*?)(?:\[\d*\])*\[(\d{1,9})\]$/.exec(part) ?? []
  return name === undefined || name === '' ? { name: part } : { name, index: Number(index) }
}

const belows = new WeakMap<readonly Step[], WeakMap<readonly Step[], readonly Step[]>>()

/**
 * Returns the rest of a path below a parent. A path that is not below the parent is treated as relative to the parent.
 */
export function below(path: readonly Step[], parent: readonly Step[]): readonly Step[] {
  if (parent.length === 0) return path
  const ofParent = belows.get(parent) ?? new WeakMap<readonly Step[], readonly Step[]>()
  belows.set(parent, ofParent)
  const cached = ofParent.get(path)
  if (cached !== undefined) return cached
  const isBelow = parent.every(({ name }, depth) => path[depth]?.name === name)
  const left = isBelow ? path.slice(parent.length) : path
  ofParent.set(path, left)
  return left
}
