import { type Document, setMember } from './document.ts'
import { below, type Step } from './path.ts'
import type { Reading, Scalar } from './reading.ts'

/**
 * This file builds a document from a flat list of values with their paths. In the input, a list has one of two forms:
 * one container per element, or one container whose children have an index.
 */

type Node = Branch | List | Scalar
type Branch = { kind: 'branch'; members: Map<string, Node> }
type List = { kind: 'list'; elements: Map<number, Branch | Scalar>; next: number; isIndexed: boolean }

/** The fields that are lists even with one element. */
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
  /** The class of the first value whose path contains a class. */
  className?: string
}

const top: readonly Step[] = []

export function decodeDevice(readings: readonly Reading[]): Decoded {
  const root: Branch = newBranch()
  let className: string | undefined
  for (const reading of readings) {
    className ??= reading.place?.className
    put(root, top, reading)
  }
  const document = plainBranch(root)
  return className === undefined ? { document } : { document, className }
}

function newBranch(): Branch {
  return { kind: 'branch', members: new Map() }
}

/** Adds a value, or a container with its children, to a branch. `parent` is the path of the branch. */
function put(branch: Branch, parent: readonly Step[], { place, content }: Reading): void {
  if (typeof content === 'object') {
    putContainer(branch, parent, { path: place?.path, children: content })
    return
  }
  const steps = place === undefined ? top : below(place.path, parent)
  const last = steps.at(-1)
  if (content === undefined || last === undefined) return
  const holder = reach(branch, steps)
  if (last.index !== undefined) setElement(listIn(holder, last.name, true), last.index, content)
  else if (!isNode(holder.members.get(last.name))) holder.members.set(last.name, content)
}

type Container = { path: readonly Step[] | undefined; children: readonly Reading[] }

function putContainer(branch: Branch, parent: readonly Step[], { path, children }: Container): void {
  const steps = path === undefined ? top : below(path, parent)
  const last = steps.at(-1)
  if (path === undefined || last === undefined) {
    for (const child of children) put(branch, parent, child)
    return
  }
  if (last.index !== undefined) {
    const element = elementAt(listIn(reach(branch, steps), last.name, true), last.index)
    for (const child of children) put(element, path, child)
    return
  }
  const isIndexed = ({ place }: Reading) => place?.path[path.length - 1]?.index !== undefined
  for (const child of children) if (isIndexed(child)) put(branch, parent, child)
  if (children.every(isIndexed)) return
  const list = listIn(reach(branch, steps), last.name, false)
  const element = elementAt(list, list.next)
  for (const child of children) if (!isIndexed(child)) put(element, path, child)
}

function isNode(node: Node | undefined): node is Branch | List {
  return typeof node === 'object'
}

/** Returns the branch that contains the last step of a path. */
function reach(branch: Branch, steps: readonly Step[]): Branch {
  let at = branch
  for (let depth = 0; depth < steps.length - 1; depth++) {
    const { name, index } = steps[depth] as Step
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

function plainBranch({ members }: Branch): Document {
  const document: Document = {}
  for (const [name, node] of members) setMember(document, name, plain(name, node))
  return document
}

/**
 * Converts a node to a plain value. Gaps between indices are removed. A single container becomes an object, unless the
 * field is always a list.
 */
function plain(name: string, node: Node): unknown {
  if (!isNode(node)) return node
  if (node.kind === 'branch') return plainBranch(node)
  const ordered = [...node.elements]
  if (ordered.length > 1) ordered.sort(([a], [b]) => a - b)
  const elements = ordered.map(([, element]) => (isNode(element) ? plainBranch(element) : element))
  return elements.length === 1 && !node.isIndexed && !lists.has(name) ? elements[0] : elements
}
