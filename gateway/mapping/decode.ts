import type { DeviceIdentifier } from '@millwright/api/proto/generated/identifiers_pb.js'
import { exactNumber } from '@millwright/api/variant.ts'
import type { Document } from './document.ts'
import { below, placeOf, type Step } from './path.ts'

/**
 * From a flat list of values that say where they belong to the document that they describe. Lists come in two forms:
 * one container for each element, or one container whose children carry an index.
 */

type Identifier = Pick<DeviceIdentifier, 'value' | 'classifiers'>
type Scalar = string | number | boolean
type Node = Branch | List | Scalar
type Branch = { kind: 'branch'; members: Map<string, Node> }
type List = { kind: 'list'; elements: Map<number, Branch | Scalar>; next: number; isIndexed: boolean }

/** What stays a list when there is one element only. */
const lists = new Set([
  'asset_identifiers',
  'asset_links',
  'asset_operations',
  'asset_relations',
  'connection_points',
  'custom_ui_properties',
  'functional_parts',
  'instance_annotations',
  'location',
  'mac_identifiers',
  'other_states',
  'related_connection_points',
  'running_asset_links',
  'running_dcds',
  'software_components',
])

export type Decoded = {
  document: Document
  /** The class of the first value that names one. */
  className?: string
}

export function decodeDevice(identifiers: readonly Identifier[]): Decoded {
  const root: Branch = newBranch()
  let className: string | undefined
  for (const identifier of identifiers) {
    className ??= placeOf(identifier.classifiers)?.className
    put(root, [], identifier)
  }
  const document = plainBranch(root)
  return className === undefined ? { document } : { document, className }
}

function newBranch(): Branch {
  return { kind: 'branch', members: new Map() }
}

/** Puts a value, or a container with all that is in it, into a branch that stands at `parent`. */
function put(branch: Branch, parent: readonly Step[], identifier: Identifier): void {
  const place = placeOf(identifier.classifiers)
  if (identifier.value.case === 'children') {
    putContainer(branch, parent, { path: place?.path, children: identifier.value.value.value })
    return
  }
  const value = scalarOf(identifier.value)
  const steps = place === undefined ? [] : below(place.path, parent)
  const last = steps.at(-1)
  if (value === undefined || last === undefined) return
  const holder = reach(branch, steps.slice(0, -1))
  if (last.index !== undefined) setElement(listIn(holder, last.name, true), last.index, value)
  else if (!isNode(holder.members.get(last.name))) holder.members.set(last.name, value)
}

type Container = { path: readonly Step[] | undefined; children: readonly Identifier[] }

function putContainer(branch: Branch, parent: readonly Step[], { path, children }: Container): void {
  const steps = path === undefined ? [] : below(path, parent)
  const last = steps.at(-1)
  if (path === undefined || last === undefined) {
    for (const child of children) put(branch, parent, child)
    return
  }
  if (last.index !== undefined) {
    const element = elementAt(listIn(reach(branch, steps.slice(0, -1)), last.name, true), last.index)
    for (const child of children) put(element, path, child)
    return
  }
  const isIndexed = (child: Identifier) => placeOf(child.classifiers)?.path[path.length - 1]?.index !== undefined
  for (const child of children) if (isIndexed(child)) put(branch, parent, child)
  const others = children.filter((child) => !isIndexed(child))
  if (others.length === 0) return
  const list = listIn(reach(branch, steps.slice(0, -1)), last.name, false)
  const element = elementAt(list, list.next)
  for (const child of others) put(element, path, child)
}

function isNode(node: Node | undefined): node is Branch | List {
  return typeof node === 'object'
}

function reach(branch: Branch, steps: readonly Step[]): Branch {
  let at = branch
  for (const { name, index } of steps) {
    const there = at.members.get(name)
    if (index !== undefined) at = elementAt(listIn(at, name, true), index)
    else if (isNode(there) && there.kind === 'list') at = elementAt(there, Math.max(0, there.next - 1))
    else if (isNode(there)) at = there
    else {
      const made = newBranch()
      at.members.set(name, made)
      at = made
    }
  }
  return at
}

function listIn(branch: Branch, name: string, isIndexed: boolean): List {
  const there = branch.members.get(name)
  if (isNode(there) && there.kind === 'list') return there
  const elements = new Map<number, Branch | Scalar>(isNode(there) ? [[0, there]] : [])
  const made: List = { kind: 'list', elements, next: elements.size, isIndexed }
  branch.members.set(name, made)
  return made
}

function elementAt(list: List, index: number): Branch {
  const there = list.elements.get(index)
  if (isNode(there)) return there
  const made = newBranch()
  setElement(list, index, made)
  return made
}

function setElement(list: List, index: number, element: Branch | Scalar): void {
  list.elements.set(index, element)
  list.next = Math.max(list.next, index + 1)
}

function plainBranch(branch: Branch): Document {
  return Object.fromEntries([...branch.members].map(([name, node]) => [name, plain(name, node)]))
}

/** Gaps between indices close. A single container of something that is no list is the thing itself. */
function plain(name: string, node: Node): unknown {
  if (!isNode(node)) return node
  if (node.kind === 'branch') return plainBranch(node)
  const ordered = [...node.elements].toSorted(([a], [b]) => a - b)
  const elements = ordered.map(([, element]) => (isNode(element) ? plainBranch(element) : element))
  return elements.length === 1 && !node.isIndexed && !lists.has(name) ? elements[0] : elements
}

/** Text without what no document may hold; undefined when nothing is said. Bytes become base64. */
function scalarOf(value: Identifier['value']): Scalar | undefined {
  switch (value.case) {
    case 'text': {
      const text = value.value.replaceAll('\u0000', '').trim()
      return text === '' ? undefined : text
    }
    case 'int64Value':
    case 'uint64Value':
      return exactNumber(value.value)
    case 'float64Value':
      return Number.isFinite(value.value) ? value.value : undefined
    case 'rawData':
      return value.value.length === 0 ? undefined : Buffer.from(value.value).toString('base64')
    default:
      return undefined
  }
}
