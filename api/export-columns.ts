import { cellText } from './asset-columns.ts'
import type { AuditEntry } from './audit.ts'
import { joinPath } from './hierarchy-path.ts'
import type { ExportedRelation } from './inventory/export-pages.ts'
import type { AssetDocument } from './inventory/shapes.ts'

/** The columns of exports in tables. `asset-columns.ts` contains the columns of assets that imports have too. */

/** A column: its heading, and the function that returns the value of its cells. */
export type ExportColumn<Element> = { heading: string; read: (element: Element) => unknown }
export type ExportColumns<Element> = Readonly<Record<string, ExportColumn<Element>>>

function stateOf(name: string): (document: AssetDocument) => unknown {
  return (document) => (document[name] as { state_value?: unknown } | null | undefined)?.state_value
}

/** The columns of assets that only an export has, because an import does not write these fields. */
export const extraAssetColumns: ExportColumns<AssetDocument> = {
  management_state: { heading: 'Management state', read: stateOf('management_state') },
  reachability_state: { heading: 'Reachability', read: stateOf('reachability_state') },
  trust_state: { heading: 'Trust state', read: stateOf('trust_state') },
  responsible: { heading: 'Responsible', read: ({ responsible }) => responsible },
  created_timestamp: { heading: 'Created', read: ({ created_timestamp: time }) => time },
  last_modified_timestamp: { heading: 'Last modified', read: ({ last_modified_timestamp: time }) => time },
}

export const relationColumns: ExportColumns<ExportedRelation> = {
  subject_name: { heading: 'Subject name', read: ({ subjectName }) => subjectName },
  predicate: { heading: 'Predicate', read: ({ predicate }) => predicate },
  object_name: { heading: 'Object name', read: ({ objectName }) => objectName },
  subject_type: { heading: 'Subject type', read: ({ subject }) => subject.type },
  subject_id: { heading: 'Subject ID', read: ({ subject }) => subject.id },
  object_type: { heading: 'Object type', read: ({ object }) => object.type },
  object_id: { heading: 'Object ID', read: ({ object }) => object.id },
  source_type: { heading: 'Source type', read: ({ source }) => source.type },
  source_value: { heading: 'Source', read: ({ source }) => source.value },
  created_timestamp: { heading: 'Created', read: ({ createdTimestamp }) => createdTimestamp },
  last_modified_timestamp: { heading: 'Last modified', read: ({ lastModifiedTimestamp }) => lastModifiedTimestamp },
  id: { heading: 'ID', read: ({ id }) => id },
}

/** A node of a hierarchy in an export. */
export type ExportedNode = {
  hierarchy: string
  /** The names from the top level. */
  path: string[]
  /** The numbers of the nodes on the path among siblings of the same name, if names are not unique. */
  occurrences?: number[]
  type?: string
  properties?: Record<string, string>
}

export const nodeColumns: ExportColumns<ExportedNode> = {
  hierarchy: { heading: 'Hierarchy', read: ({ hierarchy }) => hierarchy },
  path: { heading: 'Path', read: ({ path }) => joinPath(path) },
  name: { heading: 'Name', read: ({ path }) => path.at(-1) },
  level: { heading: 'Level', read: ({ path }) => path.length },
  type: { heading: 'Type', read: ({ type }) => type },
  properties: {
    heading: 'Properties',
    read: ({ properties = {} }) =>
      Object.entries(properties)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
  },
}

export const auditColumns: ExportColumns<AuditEntry> = {
  time: { heading: 'Time', read: ({ time }) => time },
  action: { heading: 'Action', read: ({ action }) => action },
  outcome: { heading: 'Outcome', read: ({ outcome }) => outcome },
  principal_name: { heading: 'Principal', read: ({ principalName }) => principalName },
  principal_kind: { heading: 'Principal kind', read: ({ principalKind }) => principalKind },
  principal: { heading: 'Principal ID', read: ({ principal }) => principal },
  target: { heading: 'Target', read: ({ target }) => target },
  address: { heading: 'Address', read: ({ address }) => address },
  request_id: { heading: 'Request ID', read: ({ requestId }) => requestId },
  sequence: { heading: 'Sequence', read: ({ sequence }) => sequence },
  detail: { heading: 'Detail', read: ({ detail }) => JSON.stringify(detail) },
  id: { heading: 'ID', read: ({ id }) => id },
}

/** Returns the text of the cells of an element. */
export function cellsOf<Element>(columns: readonly ExportColumn<Element>[], element: Element): string[] {
  return columns.map(({ read }) => cellText(read(element)))
}
